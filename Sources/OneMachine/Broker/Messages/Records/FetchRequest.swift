/// The request for records, from given offsets of partitions on.
struct FetchRequest {
    struct Partition {
        var index: Int32
        /// The epoch that the client knows; -1 if it knows none.
        var leaderEpoch: Int32 = -1
        /// The offset of the first record.
        var offset: Int64
        var bytesMax: Int32
    }

    /// The longest wait for `bytesMin` bytes.
    var waitMillisecondsMax: Int32
    var bytesMin: Int32
    var bytesMax: Int32
    var readsCommitted: Bool
    var sessionID: Int32 = 0
    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        _ = try reader.int32()  // replica_id: no other broker reads from this one
        waitMillisecondsMax = try reader.int32()
        bytesMin = try reader.int32()
        bytesMax = try reader.int32()
        readsCommitted = try reader.int8() == 1  // isolation_level
        if version >= 7 {
            sessionID = try reader.int32()
            _ = try reader.int32()  // session_epoch
        }
        topics = try reader.topics { (reader) throws(WireError) in
            let index = try reader.int32()
            let epoch = version >= 9 ? try reader.int32() : -1
            let offset = try reader.int64()
            if version >= 5 { _ = try reader.int64() }  // log_start_offset of a follower
            return Partition(index: index, leaderEpoch: epoch, offset: offset, bytesMax: try reader.int32())
        }
        if version >= 7 {
            // forgotten_topics_data, for fetch sessions
            _ = try reader.topics { (reader) throws(WireError) in try reader.int32() }
        }
        if version >= 11 { _ = try reader.string() }  // rack_id
        try reader.skipTags()
    }
}
