/// The request to append record batches.
struct ProduceRequest {
    struct Partition {
        var index: Int32
        /// The range of the batch in the bytes of the request. The batch is not copied.
        var records: Range<Int>?
    }

    var transactionalID: String?
    /// With 0 there is no answer. With 1 the answer leaves at once, and with -1 (all) when the records are on
    /// the disk.
    var acks: Int16
    var topics: [TopicPartitions<Partition>]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        transactionalID = try reader.nullableString()
        acks = try reader.int16()
        _ = try reader.int32()  // timeout_ms, for replicas
        topics = try reader.topics { (reader) throws(WireError) in
            Partition(index: try reader.int32(), records: try reader.skipBytes())
        }
        try reader.skipTags()
    }
}

/// The answer: the offset that the first record of each partition got.
struct ProduceResponse {
    struct Partition {
        var index: Int32
        var error = ErrorCode.none
        var baseOffset: Int64 = -1
        /// The time that the broker gave the records, in milliseconds since 1970; -1 if they keep the
        /// producer's times.
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
                writer.array(EmptyCollection<Int32>()) { $0.int32($1) }  // record_errors
                writer.message(partition.message)
            }
        }
        writer.zeroThrottleTime()
        writer.emptyTags()
    }
}
