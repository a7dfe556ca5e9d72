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
            let hourMilliseconds = "3600000"
            let topicSettings = [
                "retention.ms": hourMilliseconds, "message.timestamp.type": "LogAppendTime",
            ]
            #expect(try client.createTopic("t", settings: topicSettings) == ErrorCode.none)
            client.produce(to: "t", value: "v", correlation: 1)
            #expect(try produceAnswer(in: try client.receive().body).offset == 0)
            let dayMilliseconds: Int64 = 86_400_000
            leadMilliseconds.withLock { $0 = 30 * dayMilliseconds }
            // The metric shows about 2,592,000 s, the 30 days.
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
