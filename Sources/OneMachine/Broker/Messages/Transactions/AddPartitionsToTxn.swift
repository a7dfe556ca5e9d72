/// The request to add partitions to a transaction, before the producer writes to them. The answer is
/// `PartitionErrors`. The form with several transactions, from version 4 on, is not offered.
package struct AddPartitionsToTxnRequest: Equatable {
    package var version: Int16
    package var transactionalID: String
    package var producerID: Int64
    package var producerEpoch: Int16
    package var topics: [TopicPartitions<Int32>]

    package init(
        version: Int16, transactionalID: String, producerID: Int64, producerEpoch: Int16,
        topics: [TopicPartitions<Int32>]
    ) {
        self.version = version
        self.transactionalID = transactionalID
        self.producerID = producerID
        self.producerEpoch = producerEpoch
        self.topics = topics
    }
}

extension AddPartitionsToTxnRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
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
