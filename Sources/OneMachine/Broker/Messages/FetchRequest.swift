/// A client's request for records, with its offsets and the wait for new records.
struct FetchRequest {
    struct Partition {
        var index: Int32
        var leaderEpoch: Int32 = -1
        var offset: Int64
        var bytesMax: Int32
    }

    var waitMillisecondsMax: Int32
    var bytesMin: Int32
    var bytesMax: Int32
    var readsCommitted: Bool
    var sessionID: Int32 = 0
    var sessionEpoch: Int32 = -1
    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        _ = try reader.int32()  // replica id: nobody replicates from here
        waitMillisecondsMax = try reader.int32()
        bytesMin = try reader.int32()
        bytesMax = try reader.int32()
        readsCommitted = try reader.int8() == 1
        if version >= 7 {
            sessionID = try reader.int32()
            sessionEpoch = try reader.int32()
        }
        topics = try reader.topics { (reader) throws(WireError) in
            let index = try reader.int32()
            let epoch = version >= 9 ? try reader.int32() : -1
            let offset = try reader.int64()
            if version >= 12 { _ = try reader.int32() }  // last fetched epoch: there is one epoch
            if version >= 5 { _ = try reader.int64() }  // a follower's log start
            return Partition(index: index, leaderEpoch: epoch, offset: offset, bytesMax: try reader.int32())
        }
        if version >= 7 {
            _ = try reader.topics { (reader) throws(WireError) in try reader.int32() }
        }
        if version >= 11 { _ = try reader.string() }  // rack
        try reader.skipTags()
    }
}
