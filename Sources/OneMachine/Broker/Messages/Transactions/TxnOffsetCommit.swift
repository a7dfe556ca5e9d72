/// The request to store a group's offsets within a transaction. They count when it commits. The answer is
/// `PartitionErrors`.
struct TxnOffsetCommitRequest: Equatable {
    var transactionalID: String
    var groupID: String
    var producerID: Int64
    var producerEpoch: Int16
    /// -1 if the client does not name its generation. Then its membership is not checked.
    var generation: Int32
    var memberID: String
    var instanceID: String?
    var topics: [TopicPartitions<OffsetCommitRequest.Partition>]
}

extension TxnOffsetCommitRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
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
