/// The request to add partitions to a transaction, before the producer writes to them. The answer is
/// `PartitionErrors`.
struct AddPartitionsToTxnRequest: Equatable {
    var version: Int16
    var transactionalID: String
    var producerID: Int64
    var producerEpoch: Int16
    var topics: [TopicPartitions<Int32>]
}

extension AddPartitionsToTxnRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        transactionalID = try reader.string()
        producerID = try reader.int64()
        producerEpoch = try reader.int16()
        topics = try reader.array { (reader) throws(WireError) in
            let topic = try reader.string()
            let partitions = try reader.array { (reader) throws(WireError) in try reader.int32() }
            try reader.skipTags()
            return TopicPartitions(topic: topic, partitions: partitions)
        }
        try reader.skipTags()
    }
}
