/// Records to make unreadable, oldest first, up to an offset.
struct DeleteRecordsRequest {
    struct Partition {
        var index: Int32
        /// -1: everything that may be read.
        var offset: Int64
    }

    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader) throws(WireError) {
        topics = try reader.topics { (reader) throws(WireError) in
            Partition(index: try reader.int32(), offset: try reader.int64())
        }
        _ = try reader.int32()  // time limit
        try reader.skipTags()
    }
}

struct DeleteRecordsResponse {
    struct Partition {
        var index: Int32
        var logStartOffset: Int64 = -1
        var error = ErrorCode.none
    }

    var topics: [TopicPartitions<Partition>]

    func write(to writer: inout WireWriter) {
        writer.int32(0)
        writer.topics(topics) { writer, partition in
            writer.int32(partition.index)
            writer.int64(partition.logStartOffset)
            writer.error(partition.error)
        }
        writer.emptyTags()
    }
}
