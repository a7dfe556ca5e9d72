/// The request for the offsets of partitions at a time, or at the beginning or the end of the log.
struct ListOffsetsRequest {
    struct Partition {
        var index: Int32
        var leaderEpoch: Int32
        var timestamp: Int64
    }

    // The timestamps with a special meaning.
    static let latest: Int64 = -1
    static let earliest: Int64 = -2
    static let maxTimestamp: Int64 = -3

    var readsCommitted = false
    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        _ = try reader.int32()  // replica_id
        if version >= 2 { readsCommitted = try reader.int8() == 1 }  // isolation_level
        topics = try reader.topics { (reader) throws(WireError) in
            Partition(
                index: try reader.int32(), leaderEpoch: version >= 4 ? try reader.int32() : -1,
                timestamp: try reader.int64())
        }
        try reader.skipTags()
    }
}

/// The answer: the offset that was found in each partition, or -1 for none.
struct ListOffsetsResponse {
    struct Partition {
        var index: Int32
        var error = ErrorCode.none
        var timestamp: Int64 = -1
        var offset: Int64 = -1
    }

    var topics: [TopicPartitions<Partition>]

    func write(to writer: inout WireWriter, version: Int16) {
        if version >= 2 { writer.zeroThrottleTime() }
        writer.topics(topics) { writer, partition in
            writer.int32(partition.index)
            writer.error(partition.error)
            writer.int64(partition.timestamp)
            writer.int64(partition.offset)
            if version >= 4 { writer.int32(partition.offset < 0 ? -1 : Node.leaderEpoch) }  // leader_epoch
        }
        writer.emptyTags()
    }
}
