/// Topics to make, or only to check.
struct CreateTopicsRequest {
    struct Topic {
        var name: String
        /// -1: the broker's default.
        var partitions: Int32
        var replication: Int16
        var assignments: Int
        var settings: [(name: String, value: String?)]
    }

    var topics: [Topic]
    var validateOnly: Bool

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        topics = try reader.array { (reader) throws(WireError) in
            let name = try reader.string()
            let partitions = try reader.int32()
            let replication = try reader.int16()
            let assignments = try reader.array { (reader) throws(WireError) in
                let partition = try reader.int32()
                _ = try reader.array { (reader) throws(WireError) in try reader.int32() }
                try reader.skipTags()
                return partition
            }
            let settings = try reader.array { (reader) throws(WireError) in
                let setting = (name: try reader.string(), value: try reader.nullableString())
                try reader.skipTags()
                return setting
            }
            try reader.skipTags()
            return Topic(
                name: name, partitions: partitions, replication: replication,
                assignments: assignments.count, settings: settings)
        }
        _ = try reader.int32()  // time limit
        validateOnly = try reader.bool()
        try reader.skipTags()
    }
}

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
        writer.int32(0)
        writer.array(topics) { writer, topic in
            writer.string(topic.name)
            if version >= 7 { writer.uuid(topic.id) }
            writer.error(topic.error)
            writer.message(topic.message)
            if version >= 5 {
                writer.int32(topic.partitions)
                writer.int16(topic.error == .none ? 1 : -1)
                writer.array(topic.settings) { writer, setting in
                    writer.string(setting.name)
                    writer.nullableString(setting.value)
                    writer.bool(false)
                    writer.int8(setting.source.rawValue)
                    writer.bool(false)
                    writer.emptyTags()
                }
            }
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
