/// The request to make all records below an offset unreadable.
struct DeleteRecordsRequest {
    /// The offset that stands for the high watermark, so for all records that may be read.
    static let highWatermark: Int64 = -1

    struct Partition {
        var index: Int32
        var offset: Int64
    }

    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader) throws(WireError) {
        topics = try reader.topics { (reader) throws(WireError) in
            Partition(index: try reader.int32(), offset: try reader.int64())
        }
        _ = try reader.int32()  // timeout_ms
        try reader.skipTags()
    }
}

/// The answer: the first offset that each partition still has.
struct DeleteRecordsResponse {
    struct Partition {
        var index: Int32
        var logStartOffset: Int64 = -1
        var error = ErrorCode.none
    }

    var topics: [TopicPartitions<Partition>]

    func write(to writer: inout WireWriter) {
        writer.zeroThrottleTime()
        writer.topics(topics) { writer, partition in
            writer.int32(partition.index)
            writer.int64(partition.logStartOffset)
            writer.error(partition.error)
        }
        writer.emptyTags()
    }
}
