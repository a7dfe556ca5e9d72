import Foundation
import Testing

@testable import Broker

/// Starting, stopping, and what stays.
struct LifeTests {
    @Test func `records, topics and their settings are there after a restart`() throws {
        var settings = try BrokerSettings.temporary()
        settings.removesDataAtStop = false
        let first = try TestBroker(settings)
        let client = try first.client()
        #expect(try client.create("t", partitions: 3, settings: ["retention.ms": "5000"]) == ErrorCode.none)
        for number: Int32 in 0..<100 { client.produce("t", "v\(number)", correlation: number) }
        for number: Int32 in 0..<100 {
            let answer = try client.receive()
            #expect(answer.correlation == number)
            #expect(try produced(answer.body).offset == Int64(number))
        }
        first.broker.stop()

        settings.removesDataAtStop = true
        let second = try TestBroker(settings)
        defer { second.broker.stop() }
        let reader = try second.client()
        #expect(try reader.create("t") == .topicAlreadyExists)
        reader.fetch("t", from: 0, wait: 0, correlation: 1)
        let answer = try fetched(try reader.receive().body)
        #expect(answer.highWatermark == 100)
        #expect(String(decoding: answer.records, as: UTF8.self).contains("v99"))
    }

    @Test func `a stopped broker leaves no data directory if it made it`() throws {
        let settings = try BrokerSettings.temporary()
        let broker = try TestBroker(settings)
        _ = try broker.client().create("t", partitions: 4)
        #expect(FileManager.default.fileExists(atPath: settings.dataDirectory))
        broker.broker.stop()
        #expect(!FileManager.default.fileExists(atPath: settings.dataDirectory))
    }

    @Test func `an address beyond loopback is refused without a word`() throws {
        var settings = try BrokerSettings.temporary()
        settings.host = "0.0.0.0"
        #expect(throws: BrokerError.remoteAddress("0.0.0.0")) { try RunningBroker(settings: settings) }
        try? FileManager.default.removeItem(atPath: settings.dataDirectory)
    }

    @Test func `a taken port is one sentence, and leaves nothing running`() throws {
        try withBroker { broker in
            var settings = try BrokerSettings.temporary()
            defer { try? FileManager.default.removeItem(atPath: settings.dataDirectory) }
            settings.port = broker.broker.port
            #expect(throws: (any Error).self) { try RunningBroker(settings: settings) }
            // Its directory is free again.
            settings.port = 0
            try RunningBroker(settings: settings).stop()
        }
    }

    /// Runs in another process, because other tests open and close descriptors in this one.
    @Test func `fifty starts and stops leave no descriptor and no thread behind`() async {
        await #expect(processExitsWith: .success) {
            func count(_ what: String) -> Int {
                (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(what)").count) ?? -1
            }
            try withBroker { _ in }
            let descriptors = count("fd")
            let threads = count("task")
            for _ in 0..<50 {
                try withBroker { broker in
                    let client = try broker.client()
                    _ = try client.create("t")
                    client.produce("t", "v", correlation: 1)
                    _ = try client.receive()
                }
            }
            // A joined thread may still stand in /proc for a moment.
            try waitUntil { count("fd") <= descriptors && count("task") <= threads }
        }
    }
}
