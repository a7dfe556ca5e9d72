import Testing

@testable import Broker

/// Names as long as the protocol can say come back in answers, and in sentences about them.
struct LongNameTests {
    private static let name = String(repeating: "n", count: 32_760)

    private typealias Body = @Sendable (inout WireWriter, Int16) -> Void

    private static let requests: [(APIKey, Body)] = [
        (
            .produce,
            { w, _ in
                w.nullableString(nil)
                w.int16(-1)
                w.int32(1_000)
                w.topics([TopicPartitions(topic: name, partitions: [0 as Int32])]) { w, partition in
                    w.int32(partition)
                    w.nullableBytes([1])
                }
            }
        ),
        (.createTopics, { w, _ in writeCreation(of: name, setting: "retention.ms", to: &w) }),
        (.createTopics, { w, _ in writeCreation(of: "t", setting: name, to: &w) }),
        (
            .deleteTopics,
            { w, _ in
                w.array([name]) { $0.string($1) }
                w.int32(1_000)
            }
        ),
        (
            .createPartitions,
            { w, _ in
                w.array([name]) { w, name in
                    w.string(name)
                    w.int32(5)
                    w.nullArray()
                    w.emptyTags()
                }
                w.int32(1_000)
                w.bool(false)
            }
        ),
        (
            .describeConfigs,
            { w, version in
                w.array([ConfigResource.topic, ConfigResource.broker]) { w, kind in
                    w.int8(kind)
                    w.string(name)
                    w.nullArray()
                    w.emptyTags()
                }
                w.bool(true)
                if version >= 3 { w.bool(false) }
            }
        ),
        (.alterConfigs, { w, _ in writeChange(of: name, setting: "retention.ms", step: nil, to: &w) }),
        (.alterConfigs, { w, _ in writeChange(of: "there", setting: name, step: nil, to: &w) }),
        (.incrementalAlterConfigs, { w, _ in writeChange(of: name, setting: "x", step: 0, to: &w) }),
        (.incrementalAlterConfigs, { w, _ in writeChange(of: "there", setting: name, step: 0, to: &w) }),
        (.incrementalAlterConfigs, { w, _ in writeChange(of: "there", setting: name, step: 9, to: &w) }),
    ]

    private static func writeCreation(
        of topic: String, setting: String, value: String = "1", to w: inout WireWriter
    ) {
        w.array([topic]) { w, topic in
            w.string(topic)
            w.int32(1)
            w.int16(1)
            w.array([Int32]()) { $0.int32($1) }
            w.array([setting]) { w, setting in
                w.string(setting)
                w.nullableString(value)
                w.emptyTags()
            }
            w.emptyTags()
        }
        w.int32(1_000)
        w.bool(false)
    }

    private static func writeChange(
        of topic: String, setting: String, value: String = "1", step: Int8?, to w: inout WireWriter
    ) {
        w.array([topic]) { w, topic in
            w.int8(ConfigResource.topic)
            w.string(topic)
            w.array([setting]) { w, setting in
                w.string(setting)
                if let step { w.int8(step) }
                w.nullableString(value)
                w.emptyTags()
            }
            w.emptyTags()
        }
        w.bool(false)
    }

    @Test func `the longest names are answered by every request and version that repeats them`() throws {
        try withBroker { broker in
            let client = try broker.client()
            #expect(try client.create("there") == ErrorCode.none)
            for (api, body) in Self.requests {
                for version in api.versions.oldest...api.versions.newest {
                    client.send(api, version, correlation: Int32(version)) { w in
                        body(&w, version)
                        w.emptyTags()
                    }
                    let answer = try client.receive()
                    #expect(answer.correlation == Int32(version))
                    #expect(answer.body.count < 2 * (Self.name.utf8.count + WireWriter.messageBytesMax + 64))
                }
            }
        }
    }

    /// A list may say the same word as often as it likes, so only its length stands against it.
    @Test func `a setting's value above the limit is refused, given whole or bit by bit`() throws {
        try withBroker { broker in
            let client = try broker.client()
            let long = Array(repeating: "delete", count: 40).joined(separator: ",")
            let good = Array(repeating: "delete", count: 36).joined(separator: ",")
            #expect(try client.create("t", settings: ["cleanup.policy": long]) == .invalidConfig)
            #expect(try client.create("t", settings: ["cleanup.policy": good]) == ErrorCode.none)
            let steps: [(APIKey, Int8?, String)] = [
                (.alterConfigs, nil, long), (.incrementalAlterConfigs, 0, long),
                (.incrementalAlterConfigs, 2, "compact"),
            ]
            for (api, step, value) in steps {
                client.send(api, 0, correlation: 1) { w in
                    Self.writeChange(of: "t", setting: "cleanup.policy", value: value, step: step, to: &w)
                }
                let error = try WireReader.read(try client.receive().body) { (r) throws(WireError) in
                    _ = try r.int64()
                    return ErrorCode(rawValue: try r.int16())
                }
                #expect(error == .invalidConfig)
            }
        }
    }

    @Test func `a name that a request repeats is answered once`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t")
            func sizes(_ repeats: Int) throws -> [Int] {
                client.send(.metadata, 1, correlation: 1) { w in
                    w.array(Array(repeating: "t", count: repeats)) { $0.string($1) }
                }
                let metadata = try client.receive().body.count
                client.send(.describeConfigs, 1, correlation: 2) { w in
                    w.array(Array(repeating: "t", count: repeats)) { w, topic in
                        w.int8(ConfigResource.topic)
                        w.string(topic)
                        w.nullArray()
                    }
                    w.bool(false)
                }
                return [metadata, try client.receive().body.count]
            }
            #expect(try sizes(100) == sizes(1))
        }
    }
}
