/// The request to store a group's offsets.
struct OffsetCommitRequest: Equatable {
    struct Partition: Equatable {
        var index: Int32
        var offset: Int64
        var leaderEpoch: Int32
        var metadata: String?
    }

    var groupID: String
    /// -1 from a consumer that assigns partitions to itself, and from tools.
    var generation: Int32
    var memberID: String
    var instanceID: String?
    var topics: [TopicPartitions<Partition>]
}

extension OffsetCommitRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
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

/// The answer to OffsetCommit, TxnOffsetCommit and AddPartitionsToTxn: an error for each partition.
struct PartitionErrors: Equatable {
    struct Partition: Equatable {
        var index: Int32
        var error = ErrorCode.none
    }

    var topics: [TopicPartitions<Partition>]

    /// `hasThrottleTime` says whether this version of the answer begins with the throttle time.
    func write(to writer: inout WireWriter, hasThrottleTime: Bool) {
        if hasThrottleTime { writer.zeroThrottleTime() }
        writer.topics(topics) { writer, partition in
            writer.int32(partition.index)
            writer.error(partition.error)
        }
        writer.emptyTags()
    }
}
