import Foundation
import Testing

@testable import Broker

/// The waits of readers, and the answers to them.
struct FetchTests {
    @Test func `a parked read is answered when a record comes`() throws {
        try withBroker { broker in
            let reader = try broker.client()
            let writer = try broker.client()
            #expect(try writer.create("t") == ErrorCode.none)
            let began = Date()
            reader.fetch("t", from: 0, wait: 30_000, correlation: 1)
            try waitUntil { broker.shows("flotilla_broker_parked_fetches 1") }
            writer.produce("t", "hello", correlation: 2)
            let answer = try fetched(try reader.receive().body)
            #expect(answer.error == ErrorCode.none)
            #expect(answer.highWatermark == 1)
            #expect(String(decoding: answer.records, as: UTF8.self).contains("hello"))
            #expect(Date().timeIntervalSince(began) < 10)
        }
    }

    @Test func `a read that waits in vain is answered with nothing when its time is up`() throws {
        try withBroker { broker in
            let reader = try broker.client()
            _ = try reader.create("t")
            let began = Date()
            reader.fetch("t", from: 0, wait: 200, correlation: 1)
            let answer = try fetched(try reader.receive().body)
            #expect(answer.error == ErrorCode.none)
            #expect(answer.records.isEmpty)
            #expect(Date().timeIntervalSince(began) >= 0.19)
        }
    }

    @Test func `reads whose waits would end one after the other are answered together`() throws {
        try withBroker { broker in
            let readers = try (0..<10).map { _ in try broker.client() }
            _ = try readers[0].create("t")
            for (reader, wait) in zip(readers, stride(from: Int32(500), to: 600, by: 10)) {
                reader.fetch("t", from: 0, wait: wait, correlation: 1)
            }
            var last: Date?
            var times = 0
            for reader in readers {
                _ = try reader.receive()
                if Date().timeIntervalSince(last ?? .distantPast) > 0.003 { times += 1 }
                last = Date()
            }
            #expect(times <= 5, "two, and more where the machine is busy; ten times one")
        }
    }

    @Test func `a read that wants more than there is waits for more`() throws {
        try withBroker { broker in
            let reader = try broker.client()
            let writer = try broker.client()
            _ = try writer.create("t")
            let value = String(repeating: "x", count: 1_000)
            writer.produce("t", value, correlation: 1)
            _ = try writer.receive()
            reader.fetch("t", from: 0, wait: 30_000, bytesMin: 2_000, correlation: 2)
            try waitUntil { broker.shows("flotilla_broker_parked_fetches 1") }
            writer.produce("t", value, correlation: 3)
            let answer = try fetched(try reader.receive().body)
            #expect(answer.records.count > 2_000)
        }
    }

    @Test func `a read that ends where a segment ends does not wait for more than it can get`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t", settings: ["segment.bytes": "2000"])
            for number: Int32 in 0..<4 {
                client.produce("t", String(repeating: "x", count: 900), correlation: number)
                _ = try client.receive()
            }
            let began = Date()
            client.fetch("t", from: 0, wait: 8_000, bytesMin: 100_000, correlation: 5)
            let answer = try fetched(try client.receive().body)
            #expect(answer.records.count > 900 && answer.records.count < 2_000)
            #expect(Date().timeIntervalSince(began) < 6)
        }
    }

    @Test(
        arguments: [(-1, ErrorCode.offsetOutOfRange), (0, .none), (1, .offsetOutOfRange)]
            as [(Int64, ErrorCode)])
    func `an offset outside of the log is answered at once`(offset: Int64, expected: ErrorCode) throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t")
            client.fetch("t", from: offset, wait: expected == .none ? 0 : 60_000, correlation: 1)
            #expect(try fetched(try client.receive().body).error == expected)
        }
    }

    @Test func `a missing topic is answered at once, and a deleted one too`() throws {
        try withBroker { broker in
            let client = try broker.client()
            client.fetch("t", from: 0, wait: 60_000, correlation: 1)
            #expect(try fetched(try client.receive().body).error == .unknownTopicOrPartition)

            let admin = try broker.client()
            _ = try admin.create("t")
            client.fetch("t", from: 0, wait: 60_000, correlation: 2)
            try waitUntil { broker.shows("flotilla_broker_parked_fetches 1") }
            admin.send(.deleteTopics, 1, correlation: 3) { w in
                w.array(["t"]) { $0.string($1) }
                w.int32(1000)
            }
            _ = try admin.receive()
            #expect(try fetched(try client.receive().body).error != ErrorCode.none)
        }
    }

    @Test func `a batch larger than the reader's limit is given whole`() throws {
        try withBroker(temporary { $0.limits.fetchBytesMax = 1_000 }) { broker in
            let client = try broker.client()
            _ = try client.create("t")
            client.produce("t", String(repeating: "x", count: 50_000), correlation: 1)
            _ = try client.receive()
            client.fetch("t", from: 0, wait: 0, correlation: 2)
            #expect(try fetched(try client.receive().body).records.count > 50_000)
        }
    }
}
