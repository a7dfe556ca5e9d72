import Lifecycle
import Testing

@testable import Broker

/// The creation, growth, settings and deletion of topics by requests. The group named "group" commits offsets for the
/// topic "t".
struct TopicTests {
    /// Commits an offset of the group for the first partition of `t`.
    private func commit(_ offset: Int64, on client: RawClient) throws -> ErrorCode? {
        client.send(.offsetCommit, version: 2, correlation: 1) { writer in
            writer.string("group")  // group_id
            writer.int32(-1)  // generation_id
            writer.string("")  // member_id
            writer.int64(-1)  // retention_time_ms
            writer.topics([TopicPartitions(topic: "t", partitions: [0 as Int32])]) { writer, partition in
                writer.int32(partition)  // partition_index
                writer.int64(offset)  // committed_offset
                writer.nullableString(nil)  // committed_metadata
            }
        }
        return try WireReader.read(try client.receive().body) { (reader) throws(WireError) in
            let topics = try reader.topics { (reader) throws(WireError) in
                _ = try reader.int32()  // partition_index
                return ErrorCode(rawValue: try reader.int16()) ?? .unknownServerError
            }
            return topics.first?.partitions.first
        }
    }

    /// Returns the group's offset for the first partition of `t`, or -1.
    private func committedOffset(on client: RawClient) throws -> Int64? {
        client.send(.offsetFetch, version: 1, correlation: 1) { writer in
            writer.string("group")  // group_id
            writer.array(["t"]) { writer, topic in
                writer.string(topic)  // name
                writer.array([0 as Int32]) { $0.int32($1) }  // partition_indexes
            }
        }
        return try WireReader.read(try client.receive().body) { (reader) throws(WireError) in
            let topics = try reader.topics { (reader) throws(WireError) in
                _ = try reader.int32()  // partition_index
                let offset = try reader.int64()
                _ = try reader.nullableString()  // metadata
                _ = try reader.int16()  // error_code
                return offset
            }
            return topics.first?.partitions.first
        }
    }

    @Test func `the deletion of a topic deletes its committed offsets`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            #expect(try commit(5, on: client) == ErrorCode.none)
            #expect(try committedOffset(on: client) == 5)
            client.send(.deleteTopics, version: 1, correlation: 1) { writer in
                writer.array(["t"]) { $0.string($1) }  // topic_names
                writer.int32(1_000)  // timeout_ms
            }
            _ = try client.receive()
            _ = try client.createTopic("t")
            // The broker writes tombstones for the offsets. Until these are on the disk, the answer has the old offset.
            var offset = try committedOffset(on: client)
            let deadline = Instant.now().advanced(byMilliseconds: 60_000)
            while offset != -1, Instant.now() < deadline { offset = try committedOffset(on: client) }
            #expect(offset == -1)
        }
    }

    @Test func `a request for more partitions is refused with the reason`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            client.send(.createPartitions, version: 0, correlation: 1) { writer in
                writer.array(["t"]) { writer, topic in
                    writer.string(topic)  // name
                    writer.int32(5)  // count
                    writer.nullArray()  // assignments
                }
                writer.int32(1_000)  // timeout_ms
                writer.bool(false)  // validate_only
            }
            let answer = String(decoding: try client.receive().body, as: UTF8.self)
            #expect(answer.contains("topic t keeps its partitions"))
        }
    }

    @Test(arguments: [
        ("a b", 1, ErrorCode.invalidTopic), ("t", 0, .invalidPartitions),
        ("t", TopicStore.partitionsMax + 1, .invalidPartitions),
    ])
    func `a topic with an impossible name or number of partitions is refused`(
        name: String, partitions: Int32, expected: ErrorCode
    ) throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.createTopic(name, partitions: partitions) == expected)
        }
    }

    @Test func `an addition to a list that is not set begins with its default`() {
        func overrides(
            after operation: AlterConfigsRequest.ChangeOperation, of value: String
        ) -> [String: String] {
            var overrides: [String: String] = [:]
            let change = AlterConfigsRequest.Change(
                name: "cleanup.policy", operation: operation.rawValue, value: value)
            #expect(ConfigsHandler.apply([change], to: &overrides) == nil)
            return overrides
        }
        #expect(overrides(after: .append, of: "compact") == ["cleanup.policy": "delete,compact"])
        #expect(overrides(after: .subtract, of: "compact") == ["cleanup.policy": "delete"])
    }

    @Test func `an unknown setting or value is refused`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.createTopic("t", settings: ["retention.sm": "1"]) == .invalidConfig)
            #expect(try client.createTopic("t", settings: ["retention.ms": "soon"]) == .invalidConfig)
            #expect(try client.createTopic("t", settings: ["retention.ms": "1000"]) == ErrorCode.none)
        }
    }
}
