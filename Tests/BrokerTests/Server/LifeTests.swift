import Foundation
import Testing

@testable import Broker

/// The starts and stops of a broker, and the data and resources that remain.
struct LifeTests {
    @Test func `records, topics and their settings survive a restart`() throws {
        var settings = try BrokerSettings.temporary()
        settings.removesDataAtStop = false
        let first = try TestBroker(settings)
        let client = try first.client()
        #expect(
            try client.createTopic("t", partitions: 3, settings: ["retention.ms": "5000"]) == ErrorCode.none)
        for number: Int32 in 0..<100 { client.produce(to: "t", value: "v\(number)", correlation: number) }
        for number: Int32 in 0..<100 {
            let answer = try client.receive()
            #expect(answer.correlation == number)
            #expect(try produceAnswer(in: answer.body).offset == Int64(number))
        }
        first.running.stop()

        settings.removesDataAtStop = true
        let second = try TestBroker(settings)
        defer { second.running.stop() }
        let reader = try second.client()
        #expect(try reader.createTopic("t") == .topicAlreadyExists)
        reader.fetch("t", from: 0, waitMilliseconds: 0, correlation: 1)
        let answer = try fetchAnswer(in: try reader.receive().body)
        #expect(answer.highWatermark == 100)
        #expect(String(decoding: answer.records, as: UTF8.self).contains("v99"))
    }

    @Test func `a broker with removesDataAtStop removes its data directory when it stops`() throws {
        let settings = try BrokerSettings.temporary()
        let broker = try TestBroker(settings)
        _ = try broker.client().createTopic("t", partitions: 4)
        #expect(FileManager.default.fileExists(atPath: settings.dataDirectory))
        broker.running.stop()
        #expect(!FileManager.default.fileExists(atPath: settings.dataDirectory))
    }

    @Test func `a broker does not listen beyond loopback unless the settings allow it`() throws {
        var settings = try BrokerSettings.temporary()
        settings.host = "0.0.0.0"
        #expect(throws: BrokerError.remoteAddress("0.0.0.0")) { try RunningBroker(settings: settings) }
        try? FileManager.default.removeItem(atPath: settings.dataDirectory)
    }

    @Test func `a port in use is an error, and leaves nothing running`() throws {
        try withBroker { broker in
            var settings = try BrokerSettings.temporary()
            defer { try? FileManager.default.removeItem(atPath: settings.dataDirectory) }
            settings.port = broker.running.port
            #expect(throws: (any Error).self) { try RunningBroker(settings: settings) }
            // The failed start has unlocked its directory.
            settings.port = 0
            try RunningBroker(settings: settings).stop()
        }
    }

    // Runs in another process, because other tests open and close descriptors in this one.
    @Test func `fifty starts and stops leave no descriptor and no thread behind`() async {
        await #expect(processExitsWith: .success) {
            func entryCount(_ directory: String) -> Int {
                (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(directory)").count) ?? -1
            }
            // The first start opens descriptors that the process keeps.
            try withBroker { _ in }
            let descriptors = entryCount("fd")
            let threads = entryCount("task")
            for _ in 0..<50 {
                try withBroker { broker in
                    let client = try broker.client()
                    _ = try client.createTopic("t")
                    client.produce(to: "t", value: "v", correlation: 1)
                    _ = try client.receive()
                }
            }
            // A joined thread may stay in /proc for a moment.
            try waitUntil { entryCount("fd") <= descriptors && entryCount("task") <= threads }
        }
    }
}
