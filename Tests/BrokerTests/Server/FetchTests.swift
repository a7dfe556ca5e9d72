import Foundation
import Testing

@testable import Broker

/// The answers to Fetch, and how long a fetch waits for records. A fetch waits until the log has `bytesMin` bytes for
/// it, but at most `waitMilliseconds`. The broker calls a fetch that waits "parked".
struct FetchTests {
    @Test func `a parked fetch is answered when a record is written`() throws {
        try withBroker { broker in
            let reader = try broker.client()
            let writer = try broker.client()
            #expect(try writer.createTopic("t") == ErrorCode.none)
            let sentAt = Date()
            reader.fetch("t", from: 0, waitMilliseconds: 30_000, correlation: 1)
            try waitUntil { broker.hasMetric("flotilla_broker_parked_fetches 1") }
            writer.produce(to: "t", value: "hello", correlation: 2)
            let answer = try fetchAnswer(in: try reader.receive().body)
            #expect(answer.error == ErrorCode.none)
            #expect(answer.highWatermark == 1)
            #expect(String(decoding: answer.records, as: UTF8.self).contains("hello"))
            #expect(Date().timeIntervalSince(sentAt) < 10)
        }
    }

    @Test func `a fetch without new records is answered empty after its wait`() throws {
        try withBroker { broker in
            let reader = try broker.client()
            _ = try reader.createTopic("t")
            let sentAt = Date()
            reader.fetch("t", from: 0, waitMilliseconds: 200, correlation: 1)
            let answer = try fetchAnswer(in: try reader.receive().body)
            #expect(answer.error == ErrorCode.none)
            #expect(answer.records.isEmpty)
            // The wait, less the rounding of the clocks.
            #expect(Date().timeIntervalSince(sentAt) >= 0.19)
        }
    }

    @Test func `fetches whose waits end shortly after each other are answered together`() throws {
        try withBroker { broker in
            let readers = try (0..<10).map { _ in try broker.client() }
            _ = try readers[0].createTopic("t")
            for (reader, wait) in zip(readers, stride(from: Int32(500), to: 600, by: 10)) {
                reader.fetch("t", from: 0, waitMilliseconds: wait, correlation: 1)
            }
            var lastAnswerAt: Date?
            var groupCount = 0
            for reader in readers {
                _ = try reader.receive()
                if Date().timeIntervalSince(lastAnswerAt ?? .distantPast) > 0.003 { groupCount += 1 }
                lastAnswerAt = Date()
            }
            // Two groups are usual, and more on a busy machine. Without grouping there would be ten.
            #expect(groupCount <= 5)
        }
    }

    @Test func `a fetch that asks for more bytes than exist waits for more`() throws {
        try withBroker { broker in
            let reader = try broker.client()
            let writer = try broker.client()
            _ = try writer.createTopic("t")
            let value = String(repeating: "x", count: 1_000)
            writer.produce(to: "t", value: value, correlation: 1)
            _ = try writer.receive()
            reader.fetch("t", from: 0, waitMilliseconds: 30_000, bytesMin: 2_000, correlation: 2)
            try waitUntil { broker.hasMetric("flotilla_broker_parked_fetches 1") }
            writer.produce(to: "t", value: value, correlation: 3)
            let answer = try fetchAnswer(in: try reader.receive().body)
            #expect(answer.records.count > 2_000)
        }
    }

    @Test func `a fetch that ends at the end of a segment does not wait for the next segment`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t", settings: ["segment.bytes": "2000"])
            for number: Int32 in 0..<4 {
                client.produce(to: "t", value: String(repeating: "x", count: 900), correlation: number)
                _ = try client.receive()
            }
            let sentAt = Date()
            client.fetch("t", from: 0, waitMilliseconds: 8_000, bytesMin: 100_000, correlation: 5)
            let answer = try fetchAnswer(in: try client.receive().body)
            // The records of the first segment.
            #expect(answer.records.count > 900 && answer.records.count < 2_000)
            // Earlier than `waitMilliseconds`.
            #expect(Date().timeIntervalSince(sentAt) < 6)
        }
    }

    @Test(
        arguments: [(-1, ErrorCode.offsetOutOfRange), (0, .none), (1, .offsetOutOfRange)]
            as [(Int64, ErrorCode)])
    func `an offset outside of the log is answered at once`(offset: Int64, expected: ErrorCode) throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            // A fetch within the log may wait. The others must not wait, although they ask for it.
            client.fetch("t", from: offset, waitMilliseconds: expected == .none ? 0 : 60_000, correlation: 1)
            #expect(try fetchAnswer(in: try client.receive().body).error == expected)
        }
    }

    @Test func `a fetch of a missing topic is answered at once`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.fetch("t", from: 0, waitMilliseconds: 60_000, correlation: 1)
            #expect(try fetchAnswer(in: try client.receive().body).error == .unknownTopicOrPartition)
        }
    }

    @Test func `a parked fetch is answered when its topic is deleted`() throws {
        try withBroker { broker in
            let client = try broker.client()
            let admin = try broker.client()
            _ = try admin.createTopic("t")
            client.fetch("t", from: 0, waitMilliseconds: 60_000, correlation: 1)
            try waitUntil { broker.hasMetric("flotilla_broker_parked_fetches 1") }
            admin.send(.deleteTopics, version: 1, correlation: 2) { writer in
                writer.array(["t"]) { $0.string($1) }  // topic_names
                writer.int32(1_000)  // timeout_ms
            }
            _ = try admin.receive()
            #expect(try fetchAnswer(in: try client.receive().body).error != ErrorCode.none)
        }
    }

    @Test func `a batch above the limit of a fetch is returned whole`() throws {
        try withBroker(temporarySettings { $0.limits.fetchBytesMax = 1_000 }) { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            client.produce(to: "t", value: String(repeating: "x", count: 50_000), correlation: 1)
            _ = try client.receive()
            client.fetch("t", from: 0, waitMilliseconds: 0, correlation: 2)
            #expect(try fetchAnswer(in: try client.receive().body).records.count > 50_000)
        }
    }
}
