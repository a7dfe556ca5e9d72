import Lifecycle
import Testing

@testable import Broker

/// Topics as administrators meet them.
struct TopicTests {
    private func commit(_ offset: Int64, _ client: RawClient) throws -> ErrorCode? {
        client.send(.offsetCommit, 2, correlation: 1) { w in
            w.string("group")
            w.int32(-1)
            w.string("")
            w.int64(-1)
            w.topics([TopicPartitions(topic: "t", partitions: [0 as Int32])]) { w, partition in
                w.int32(partition)
                w.int64(offset)
                w.nullableString(nil)
            }
        }
        return try WireReader.read(try client.receive().body) { (r) throws(WireError) in
            let topics = try r.topics { (r) throws(WireError) in
                _ = try r.int32()
                return ErrorCode(rawValue: try r.int16()) ?? .unknownServerError
            }
            return topics.first?.partitions.first
        }
    }

    private func committed(_ client: RawClient) throws -> Int64? {
        client.send(.offsetFetch, 1, correlation: 1) { w in
            w.string("group")
            w.array(["t"]) { w, topic in
                w.string(topic)
                w.array([0 as Int32]) { $0.int32($1) }
            }
        }
        return try WireReader.read(try client.receive().body) { (r) throws(WireError) in
            let topics = try r.topics { (r) throws(WireError) in
                _ = try r.int32()
                let offset = try r.int64()
                _ = try r.nullableString()
                _ = try r.int16()
                return offset
            }
            return topics.first?.partitions.first
        }
    }

    @Test func `a topic's committed offsets go with it`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t")
            #expect(try commit(5, client) == ErrorCode.none)
            #expect(try committed(client) == 5)
            client.send(.deleteTopics, 1, correlation: 1) { w in
                w.array(["t"]) { $0.string($1) }
                w.int32(1000)
            }
            _ = try client.receive()
            _ = try client.create("t")
            // The tombstones are written first. Until they are on the disk, the answer has the old
            // offset.
            var offset = try committed(client)
            let limit = Instant.now().advanced(byMilliseconds: 60_000)
            while offset != -1, Instant.now() < limit { offset = try committed(client) }
            #expect(offset == -1)
        }
    }

    @Test func `more partitions are refused with the reason`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t")
            client.send(.createPartitions, 0, correlation: 1) { w in
                w.array(["t"]) { w, topic in
                    w.string(topic)
                    w.int32(5)
                    w.nullArray()
                }
                w.int32(1000)
                w.bool(false)
            }
            let answer = String(decoding: try client.receive().body, as: UTF8.self)
            #expect(answer.contains("topic t keeps its partitions"))
        }
    }

    @Test(arguments: [
        ("a b", 1, ErrorCode.invalidTopic), ("t", 0, .invalidPartitions), ("t", 20_000, .invalidPartitions),
    ])
    func `a topic that cannot be is refused by name`(name: String, partitions: Int32, expected: ErrorCode)
        throws
    {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.create(name, partitions: partitions) == expected)
        }
    }

    @Test func `a setting that is not known is refused`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.create("t", settings: ["retention.sm": "1"]) == .invalidConfig)
            #expect(try client.create("t", settings: ["retention.ms": "soon"]) == .invalidConfig)
            #expect(try client.create("t", settings: ["retention.ms": "1000"]) == ErrorCode.none)
        }
    }
}
