/// The request for the end of a leader's epoch. The broker has only one epoch, which ends at the end of the log.
struct OffsetForLeaderEpochRequest {
    struct Partition {
        var index: Int32
        /// The current epoch that the client knows.
        var currentLeaderEpoch: Int32
        /// The epoch whose end the client asks for.
        var leaderEpoch: Int32
    }

    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        if version >= 3 { _ = try reader.int32() }  // replica_id
        topics = try reader.topics { (reader) throws(WireError) in
            Partition(
                index: try reader.int32(), currentLeaderEpoch: try reader.int32(),
                leaderEpoch: try reader.int32())
        }
        try reader.skipTags()
    }
}

/// The answer: the end offset of each partition in the requested leader epoch.
struct OffsetForLeaderEpochResponse {
    struct Partition {
        var index: Int32
        var error = ErrorCode.none
        var leaderEpoch: Int32 = -1
        var endOffset: Int64 = -1
    }

    var topics: [TopicPartitions<Partition>]

    func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.topics(topics) { writer, partition in
            writer.error(partition.error)
            writer.int32(partition.index)
            writer.int32(partition.leaderEpoch)
            writer.int64(partition.endOffset)
        }
        writer.emptyTags()
    }
}
