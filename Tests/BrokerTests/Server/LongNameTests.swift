import Testing

@testable import Broker

/// Answers and error messages that repeat a name from the request. A name has at most 32,767 bytes in Kafka's protocol,
/// and an error message is cut, so the size of an answer is bounded. The comment behind a value is the field's name in
/// Kafka's schema.
struct LongNameTests {
    /// Almost the longest name. An answer that adds more than seven bytes to it has to cut it.
    private static let name = String(repeating: "n", count: 32_760)

    /// The values of config_operation in IncrementalAlterConfigs.
    private enum ConfigOperation {
        static let set: Int8 = 0
        static let append: Int8 = 2
        static let unknown: Int8 = 9
    }

    /// Writes the body of a request in a version.
    private typealias Body = @Sendable (_ writer: inout WireWriter, _ version: Int16) -> Void

    private static let requests: [(APIKey, Body)] = [
        (
            .produce,
            { writer, _ in
                writer.nullableString(nil)  // transactional_id
                writer.int16(-1)  // acks
                writer.int32(1_000)  // timeout_ms
                writer.topics([TopicPartitions(topic: name, partitions: [0 as Int32])]) { writer, partition in
                    writer.int32(partition)  // index
                    writer.nullableBytes([1])  // records
                }
            }
        ),
        (.createTopics, { writer, _ in writeCreation(of: name, setting: "retention.ms", to: &writer) }),
        (.createTopics, { writer, _ in writeCreation(of: "t", setting: name, to: &writer) }),
        (
            .deleteTopics,
            { writer, _ in
                writer.array([name]) { $0.string($1) }  // topic_names
                writer.int32(1_000)  // timeout_ms
            }
        ),
        (
            .createPartitions,
            { writer, _ in
                writer.array([name]) { writer, name in
                    writer.string(name)  // name
                    writer.int32(5)  // count
                    writer.nullArray()  // assignments
                    writer.emptyTags()
                }
                writer.int32(1_000)  // timeout_ms
                writer.bool(false)  // validate_only
            }
        ),
        (
            .describeConfigs,
            { writer, version in
                writer.array([ConfigResource.topic, ConfigResource.broker]) { writer, kind in
                    writer.int8(kind)  // resource_type
                    writer.string(name)  // resource_name
                    writer.nullArray()  // configuration_keys
                    writer.emptyTags()
                }
                writer.bool(true)  // include_synonyms
                if version >= 3 { writer.bool(false) }  // include_documentation
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
            { writer, _ in writeChange(of: name, setting: "x", operation: ConfigOperation.set, to: &writer) }
        ),
        (
            .incrementalAlterConfigs,
            { writer, _ in
                writeChange(of: "there", setting: name, operation: ConfigOperation.set, to: &writer)
            }
        ),
        (
            .incrementalAlterConfigs,
            { writer, _ in
                writeChange(of: "there", setting: name, operation: ConfigOperation.unknown, to: &writer)
            }
        ),
    ]

    /// Writes the body of CreateTopics.
    private static func writeCreation(
        of topic: String, setting: String, value: String = "1", to writer: inout WireWriter
    ) {
        writer.array([topic]) { writer, topic in
            writer.string(topic)  // name
            writer.int32(1)  // num_partitions
            writer.int16(1)  // replication_factor
            writer.array([Int32]()) { $0.int32($1) }  // assignments
            writer.array([setting]) { writer, setting in
                writer.string(setting)  // configs: name
                writer.nullableString(value)  // configs: value
                writer.emptyTags()
            }
            writer.emptyTags()
        }
        writer.int32(1_000)  // timeout_ms
        writer.bool(false)  // validate_only
    }

    /// Writes the body of AlterConfigs, or of IncrementalAlterConfigs if there is an operation.
    private static func writeChange(
        of topic: String, setting: String, value: String = "1", operation: Int8?, to writer: inout WireWriter
    ) {
        writer.array([topic]) { writer, topic in
            writer.int8(ConfigResource.topic)  // resource_type
            writer.string(topic)  // resource_name
            writer.array([setting]) { writer, setting in
                writer.string(setting)  // configs: name
                if let operation { writer.int8(operation) }  // configs: config_operation
                writer.nullableString(value)  // configs: value
                writer.emptyTags()
            }
            writer.emptyTags()
        }
        writer.bool(false)  // validate_only
    }

    @Test func `every request that repeats a name is answered for the longest names, in every version`()
        throws
    {
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
                    // Two names with their messages, and some fields.
                    #expect(answer.body.count < 2 * (Self.name.utf8.count + WireWriter.messageBytesMax + 64))
                }
            }
        }
    }

    /// A value that is a list may repeat a word without end, so the length of the value is limited.
    @Test func `a setting's value above the limit is refused, also if it is appended`() throws {
        try withBroker { broker in
            let client = try broker.client()
            // "delete," has 7 bytes, and the limit (`Refusal.settingBytesMax`) is 255.
            let tooLong = Array(repeating: "delete", count: 40).joined(separator: ",")
            let longest = Array(repeating: "delete", count: 36).joined(separator: ",")
            #expect(try client.createTopic("t", settings: ["cleanup.policy": tooLong]) == .invalidConfig)
            #expect(try client.createTopic("t", settings: ["cleanup.policy": longest]) == ErrorCode.none)
            let changes: [(APIKey, Int8?, String)] = [
                (.alterConfigs, nil, tooLong), (.incrementalAlterConfigs, ConfigOperation.set, tooLong),
                (.incrementalAlterConfigs, ConfigOperation.append, "compact"),
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
                let metadataBytes = try client.receive().body.count
                client.send(.describeConfigs, version: 1, correlation: 2) { writer in
                    writer.array(Array(repeating: "t", count: repeats)) { writer, topic in
                        writer.int8(ConfigResource.topic)  // resource_type
                        writer.string(topic)  // resource_name
                        writer.nullArray()  // configuration_keys
                    }
                    writer.bool(false)  // include_synonyms
                }
                return [metadataBytes, try client.receive().body.count]
            }
            #expect(try answerSizes(repeats: 100) == answerSizes(repeats: 1))
        }
    }
}
