/// The request of an operator to delete committed offsets of topics that the group no longer reads.
struct OffsetDeleteRequest: Equatable {
    var groupID: String
    var topics: [TopicPartitions<Int32>]
}

extension OffsetDeleteRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupID = try reader.string()
        topics = try reader.topics { (reader) throws(WireError) in try reader.int32() }
        try reader.skipTags()
    }
}

/// The answer: an error for the group and one for each partition.
struct OffsetDeleteResponse: Equatable {
    var error = ErrorCode.none
    var partitions = PartitionErrors(topics: [])

    func write(to writer: inout WireWriter, version: Int16) {
        writer.error(error)
        partitions.write(to: &writer, hasThrottleTime: true)
    }
}
