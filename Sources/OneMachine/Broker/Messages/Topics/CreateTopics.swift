/// The request to create topics.
struct CreateTopicsRequest {
    /// The number of partitions, or of replicas, that stands for the broker's default.
    static let brokerDefault: Int32 = -1

    struct Setting {
        var name: String
        /// Nil for the default.
        var value: String?
    }

    struct Topic {
        var name: String
        /// Number of partitions, or the broker's default.
        var partitions: Int32
        /// Number of replicas, or the broker's default.
        var replication: Int16
        /// Number of partitions whose brokers the client chose.
        var assignments: Int
        var settings: [Setting]
    }

    var topics: [Topic]
    /// Whether the topics are only checked and not created.
    var validateOnly: Bool

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        topics = try reader.array { (reader) throws(WireError) in
            let name = try reader.string()
            let partitions = try reader.int32()
            let replication = try reader.int16()
            let assignments = try reader.array { (reader) throws(WireError) in
                let partition = try reader.int32()
                _ = try reader.array { (reader) throws(WireError) in try reader.int32() }  // broker_ids
                try reader.skipTags()
                return partition
            }
            let settings = try reader.array { (reader) throws(WireError) in
                let setting = Setting(name: try reader.string(), value: try reader.nullableString())
                try reader.skipTags()
                return setting
            }
            try reader.skipTags()
            return Topic(
                name: name, partitions: partitions, replication: replication,
                assignments: assignments.count, settings: settings)
        }
        _ = try reader.int32()  // timeout_ms
        validateOnly = try reader.bool()
        try reader.skipTags()
    }
}

/// The answer: an error for each topic, or its id and its settings.
struct CreateTopicsResponse {
    struct Topic {
        var name: String
        var id = TopicID.none
        var error = ErrorCode.none
        var message: String?
        var partitions: Int32 = -1
        var settings: [DescribedSetting] = []
    }

    var topics: [Topic]

    func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.array(topics) { writer, topic in
            writer.string(topic.name)
            if version >= 7 { writer.uuid(topic.id) }
            writer.error(topic.error)
            writer.message(topic.message)
            if version >= 5 {
                writer.int32(topic.partitions)
                writer.int16(topic.error == .none ? 1 : -1)  // replication_factor
                writer.array(topic.settings) { writer, setting in
                    writer.string(setting.name)
                    writer.nullableString(setting.value)
                    writer.bool(false)  // read_only
                    writer.int8(setting.source.rawValue)
                    writer.bool(false)  // is_sensitive
                    writer.emptyTags()
                }
            }
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
