import Testing

@testable import Broker

/// Answers and error messages that repeat the longest names of the protocol.
struct LongNameTests {
    private static let name = String(repeating: "n", count: 32_760)

    /// Writes the body of a request in a version.
    private typealias Body = @Sendable (inout WireWriter, Int16) -> Void

    private static let requests: [(APIKey, Body)] = [
        (
            .produce,
            { writer, _ in
                writer.nullableString(nil)  // transactional_id
                writer.int16(-1)  // acks
                writer.int32(1_000)  // timeout_ms
                writer.topics([TopicPartitions(topic: name, partitions: [0 as Int32])]) { writer, partition in
                    writer.int32(partition)
                    writer.nullableBytes([1])
                }
            }
        ),
        (.createTopics, { writer, _ in writeCreation(of: name, setting: "retention.ms", to: &writer) }),
        (.createTopics, { writer, _ in writeCreation(of: "t", setting: name, to: &writer) }),
        (
            .deleteTopics,
            { writer, _ in
                writer.array([name]) { $0.string($1) }
                writer.int32(1_000)
            }
        ),
        (
            .createPartitions,
            { writer, _ in
                writer.array([name]) { writer, name in
                    writer.string(name)
                    writer.int32(5)
                    writer.nullArray()
                    writer.emptyTags()
                }
                writer.int32(1_000)
                writer.bool(false)
            }
        ),
        (
            .describeConfigs,
            { writer, version in
                writer.array([ConfigResource.topic, ConfigResource.broker]) { writer, kind in
                    writer.int8(kind)
                    writer.string(name)
                    writer.nullArray()
                    writer.emptyTags()
                }
                writer.bool(true)
                if version >= 3 { writer.bool(false) }
            }
        ),
        (
            .alterConfigs,
            { writer, _ in writeChange(of: name, setting: "retention.ms", operation: nil, to: &writer) }
        ),
        (
            .alterConfigs,
            { writer, _ in writeChange(of: "there", setting: name, operation: nil, to: &writer) }
        ),
        (
            .incrementalAlterConfigs,
            { writer, _ in writeChange(of: name, setting: "x", operation: 0, to: &writer) }
        ),
        (
            .incrementalAlterConfigs,
            { writer, _ in writeChange(of: "there", setting: name, operation: 0, to: &writer) }
        ),
        (
            .incrementalAlterConfigs,
            { writer, _ in writeChange(of: "there", setting: name, operation: 9, to: &writer) }
        ),
    ]

    private static func writeCreation(
        of topic: String, setting: String, value: String = "1", to writer: inout WireWriter
    ) {
        writer.array([topic]) { writer, topic in
            writer.string(topic)
            writer.int32(1)
            writer.int16(1)
            writer.array([Int32]()) { $0.int32($1) }
            writer.array([setting]) { writer, setting in
                writer.string(setting)
                writer.nullableString(value)
                writer.emptyTags()
            }
            writer.emptyTags()
        }
        writer.int32(1_000)
        writer.bool(false)
    }

    private static func writeChange(
        of topic: String, setting: String, value: String = "1", operation: Int8?, to writer: inout WireWriter
    ) {
        writer.array([topic]) { writer, topic in
            writer.int8(ConfigResource.topic)
            writer.string(topic)
            writer.array([setting]) { writer, setting in
                writer.string(setting)
                if let operation { writer.int8(operation) }  // config_operation
                writer.nullableString(value)
                writer.emptyTags()
            }
            writer.emptyTags()
        }
        writer.bool(false)
    }

    @Test func `the longest names are answered by every request and version that repeats them`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.createTopic("there") == ErrorCode.none)
            for (api, body) in Self.requests {
                for version in api.versions.oldest...api.versions.newest {
                    client.send(api, version: version, correlation: Int32(version)) { writer in
                        body(&writer, version)
                        writer.emptyTags()
                    }
                    let answer = try client.receive()
                    #expect(answer.correlation == Int32(version))
                    #expect(answer.body.count < 2 * (Self.name.utf8.count + WireWriter.messageBytesMax + 64))
                }
            }
        }
    }

    /// A list may repeat a word without end, so only its length can be limited.
    @Test func `a setting's value above the limit is refused, set at once or appended to`() throws {
        try withBroker { broker in
            let client = try broker.client()
            let tooLong = Array(repeating: "delete", count: 40).joined(separator: ",")
            let longest = Array(repeating: "delete", count: 36).joined(separator: ",")
            #expect(try client.createTopic("t", settings: ["cleanup.policy": tooLong]) == .invalidConfig)
            #expect(try client.createTopic("t", settings: ["cleanup.policy": longest]) == ErrorCode.none)
            let changes: [(APIKey, Int8?, String)] = [
                (.alterConfigs, nil, tooLong), (.incrementalAlterConfigs, 0, tooLong),
                (.incrementalAlterConfigs, 2, "compact"),
            ]
            for (api, operation, value) in changes {
                client.send(api, version: 0, correlation: 1) { writer in
                    Self.writeChange(
                        of: "t", setting: "cleanup.policy", value: value, operation: operation, to: &writer)
                }
                let error = try WireReader.read(try client.receive().body) { (reader) throws(WireError) in
                    _ = try reader.int64()  // throttle_time_ms, and the number of responses
                    return ErrorCode(rawValue: try reader.int16())
                }
                #expect(error == .invalidConfig)
            }
        }
    }

    @Test func `a name that a request repeats is answered once`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            func answerSizes(repeats: Int) throws -> [Int] {
                client.send(.metadata, version: 1, correlation: 1) { writer in
                    writer.array(Array(repeating: "t", count: repeats)) { $0.string($1) }
                }
                let metadata = try client.receive().body.count
                client.send(.describeConfigs, version: 1, correlation: 2) { writer in
                    writer.array(Array(repeating: "t", count: repeats)) { writer, topic in
                        writer.int8(ConfigResource.topic)
                        writer.string(topic)
                        writer.nullArray()
                    }
                    writer.bool(false)
                }
                return [metadata, try client.receive().body.count]
            }
            #expect(try answerSizes(repeats: 100) == answerSizes(repeats: 1))
        }
    }
}
