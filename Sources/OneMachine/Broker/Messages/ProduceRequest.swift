/// Record batches to append. The batches stay where the request lies; `records` says where.
struct ProduceRequest {
    struct Partition {
        var index: Int32
        var records: Range<Int>?
    }

    var transactionalID: String?
    /// 0: no answer; 1 and -1 differ only in whether the answer waits for the disk.
    var acks: Int16
    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        transactionalID = try reader.nullableString()
        acks = try reader.int16()
        _ = try reader.int32()  // a time limit for replicas, of which there are none
        topics = try reader.topics { (reader) throws(WireError) in
            Partition(index: try reader.int32(), records: try reader.skipBytes())
        }
        try reader.skipTags()
    }
}

struct ProduceResponse {
    struct Partition {
        var index: Int32
        var error = ErrorCode.none
        var baseOffset: Int64 = -1
        /// -1: the records keep the time their producer gave them.
        var logAppendTime: Int64 = -1
        var logStartOffset: Int64 = -1
        var message: String?
    }

    var topics: [TopicPartitions<Partition>]

    func write(to writer: inout WireWriter, version: Int16) {
        writer.topics(topics) { writer, partition in
            writer.int32(partition.index)
            writer.error(partition.error)
            writer.int64(partition.baseOffset)
            writer.int64(partition.logAppendTime)
            if version >= 5 { writer.int64(partition.logStartOffset) }
            if version >= 8 {
                writer.array(EmptyCollection<Int32>()) { $0.int32($1) }
                writer.message(partition.message)
            }
        }
        writer.int32(0)
        writer.emptyTags()
    }
}
