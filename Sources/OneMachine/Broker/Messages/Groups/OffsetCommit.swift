/// The request to store a group's offsets.
package struct OffsetCommitRequest: Equatable {
    package struct Partition: Equatable {
        package var index: Int32
        package var offset: Int64
        package var leaderEpoch: Int32
        package var metadata: String?

        package init(index: Int32, offset: Int64, leaderEpoch: Int32, metadata: String? = nil) {
            self.index = index
            self.offset = offset
            self.leaderEpoch = leaderEpoch
            self.metadata = metadata
        }
    }

    package var groupID: String
    /// -1 from a consumer that assigns partitions to itself, and from tools.
    package var generation: Int32
    package var memberID: String
    package var instanceID: String?
    package var topics: [TopicPartitions<Partition>]

    package init(
        groupID: String, generation: Int32, memberID: String, instanceID: String?,
        topics: [TopicPartitions<Partition>]
    ) {
        self.groupID = groupID
        self.generation = generation
        self.memberID = memberID
        self.instanceID = instanceID
        self.topics = topics
    }
}

extension OffsetCommitRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupID = try reader.string()
        generation = try reader.int32()
        memberID = try reader.string()
        instanceID = version >= 7 ? try reader.nullableString() : nil
        if version >= 2 && version <= 4 { _ = try reader.int64() }  // retention_time_ms: not used
        topics = try reader.topics { (reader) throws(WireError) in
            let index = try reader.int32()
            let offset = try reader.int64()
            let leaderEpoch = version >= 6 ? try reader.int32() : -1
            if version == 1 { _ = try reader.int64() }  // commit_timestamp
            return Partition(
                index: index, offset: offset, leaderEpoch: leaderEpoch, metadata: try reader.nullableString())
        }
        try reader.skipTags()
    }
}

/// An error for each partition: the answer to OffsetCommit, TxnOffsetCommit and AddPartitionsToTxn, and a part
/// of the answer to OffsetDelete.
package struct PartitionErrors: Equatable {
    package struct Partition: Equatable {
        package var index: Int32
        package var error = ErrorCode.none
    }

    package var topics: [TopicPartitions<Partition>]

    /// `hasThrottleTime` says whether this version of the answer begins with the throttle time.
    package func write(to writer: inout WireWriter, hasThrottleTime: Bool) {
        if hasThrottleTime { writer.zeroThrottleTime() }
        writer.topics(topics) { writer, partition in
            writer.int32(partition.index)
            writer.error(partition.error)
        }
        writer.emptyTags()
    }
}
