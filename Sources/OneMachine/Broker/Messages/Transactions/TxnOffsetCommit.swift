/// The request to store a group's offsets within a transaction. They count when it commits. The answer is
/// `PartitionErrors`.
package struct TxnOffsetCommitRequest: Equatable {
    package var transactionalID: String
    package var groupID: String
    package var producerID: Int64
    package var producerEpoch: Int16
    /// -1 if the client does not name its generation, as old clients do.
    package var generation: Int32
    package var memberID: String
    package var instanceID: String?
    package var topics: [TopicPartitions<OffsetCommitRequest.Partition>]

    package init(
        transactionalID: String, groupID: String, producerID: Int64, producerEpoch: Int16, generation: Int32,
        memberID: String, instanceID: String? = nil, topics: [TopicPartitions<OffsetCommitRequest.Partition>]
    ) {
        self.transactionalID = transactionalID
        self.groupID = groupID
        self.producerID = producerID
        self.producerEpoch = producerEpoch
        self.generation = generation
        self.memberID = memberID
        self.instanceID = instanceID
        self.topics = topics
    }
}

extension TxnOffsetCommitRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        transactionalID = try reader.string()
        groupID = try reader.string()
        producerID = try reader.int64()
        producerEpoch = try reader.int16()
        generation = version >= 3 ? try reader.int32() : -1
        memberID = version >= 3 ? try reader.string() : ""
        instanceID = version >= 3 ? try reader.nullableString() : nil
        topics = try reader.topics { (reader) throws(WireError) in
            OffsetCommitRequest.Partition(
                index: try reader.int32(), offset: try reader.int64(),
                leaderEpoch: version >= 2 ? try reader.int32() : -1, metadata: try reader.nullableString())
        }
        try reader.skipTags()
    }
}
