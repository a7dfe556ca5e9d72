import Foundation
import Synchronization
import Telemetry
import Testing

@testable import Broker

/// A broker on a machine whose clock jumps. The test replaces the clock in the broker's settings.
struct ClockTests {
    @Test func `a clock that jumps ahead deletes no record`() throws {
        let leadMilliseconds = Mutex<Int64>(0)
        let settings = try temporarySettings { settings in
            settings.clock = {
                WallTime(milliseconds: WallTime.now().milliseconds + leadMilliseconds.withLock { $0 })
            }
        }
        try withBroker(settings) { broker in
            let client = try broker.client()
            // One hour.
            let topicSettings = ["retention.ms": "3600000", "message.timestamp.type": "LogAppendTime"]
            #expect(try client.createTopic("t", settings: topicSettings) == ErrorCode.none)
            client.produce(to: "t", value: "v", correlation: 1)
            #expect(try produceAnswer(in: try client.receive().body).offset == 0)
            // 30 days. The metric then shows about 2,592,000 s.
            leadMilliseconds.withLock { $0 = 30 * 86_400_000 }
            try waitUntil {
                broker.metrics.render().contains("\nflotilla_broker_clock_lead_seconds 2")
            }
            client.fetch("t", from: 0, waitMilliseconds: 0, correlation: 2)
            let answer = try fetchAnswer(in: try client.receive().body)
            #expect(answer.error == ErrorCode.none)
            #expect(String(decoding: answer.records, as: UTF8.self).contains("v"))
        }
    }
}
