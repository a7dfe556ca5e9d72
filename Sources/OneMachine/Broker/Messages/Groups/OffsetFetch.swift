/// The request for the committed offsets of groups.
package struct OffsetFetchRequest: Equatable {
    package struct Group: Equatable {
        package var groupID: String
        /// The partitions; nil for all partitions with offsets.
        package var topics: [TopicPartitions<Int32>]?

        package init(groupID: String, topics: [TopicPartitions<Int32>]? = nil) {
            self.groupID = groupID
            self.topics = topics
        }
    }

    /// Up to version 7 there is exactly one.
    package var groups: [Group]
    /// Whether an offset that an open transaction may change is answered with an error.
    package var requireStable = false

    package init(groups: [Group], requireStable: Bool = false) {
        self.groups = groups
        self.requireStable = requireStable
    }
}

extension OffsetFetchRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        if version < 8 {
            groups = [try Self.group(from: &reader, version: version)]
        } else {
            groups = try reader.array { (reader) throws(WireError) in
                let group = try Self.group(from: &reader, version: version)
                try reader.skipTags()
                return group
            }
        }
        if version >= 7 { requireStable = try reader.bool() }
        try reader.skipTags()
    }

    private static func group(from reader: inout WireReader, version: Int16) throws(WireError) -> Group {
        let groupID = try reader.string()
        let topics = try reader.nullableArray { (reader) throws(WireError) in
            let topic = try reader.string()
            let partitions = try reader.array { (reader) throws(WireError) in try reader.int32() }
            try reader.skipTags()
            return TopicPartitions(topic: topic, partitions: partitions)
        }
        if topics == nil && version < 2 { throw .absentValue }
        return Group(groupID: groupID, topics: topics)
    }
}

/// The answer: the committed offset of each partition, or -1 if the group has committed none.
package struct OffsetFetchResponse: Equatable {
    package struct Partition: Equatable {
        package var index: Int32
        package var offset: Int64 = -1
        package var leaderEpoch: Int32 = -1
        package var metadata = ""
        package var error = ErrorCode.none
    }

    package struct Group: Equatable {
        package var groupID: String
        package var topics: [TopicPartitions<Partition>] = []
        package var error = ErrorCode.none
    }

    /// One for each group of the request; before version 8 exactly one.
    package var groups: [Group]

    package func write(to writer: inout WireWriter, version: Int16) {
        if version >= 3 { writer.zeroThrottleTime() }
        if version >= 8 {
            writer.array(groups) { writer, group in
                writer.string(group.groupID)
                Self.writeTopics(of: group, to: &writer, version: version)
                writer.error(group.error)
                writer.emptyTags()
            }
        } else if let only = groups.first {
            Self.writeTopics(of: only, to: &writer, version: version)
            if version >= 2 { writer.error(only.error) }
        }
        writer.emptyTags()
    }

    private static func writeTopics(of group: Group, to writer: inout WireWriter, version: Int16) {
        writer.topics(group.topics) { writer, partition in
            writer.int32(partition.index)
            writer.int64(partition.offset)
            if version >= 5 { writer.int32(partition.leaderEpoch) }
            writer.nullableString(partition.metadata)
            // Version 1 has no field for the group's error, so each partition has it.
            writer.error(version < 2 && partition.error == .none ? group.error : partition.error)
        }
    }
}
