/// The request of an operator to delete committed offsets of topics that the group no longer reads.
package struct OffsetDeleteRequest: Equatable {
    package var groupID: String
    package var topics: [TopicPartitions<Int32>]
}

extension OffsetDeleteRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupID = try reader.string()
        topics = try reader.topics { (reader) throws(WireError) in try reader.int32() }
        try reader.skipTags()
    }
}

/// The answer: an error for the group and one for each partition.
package struct OffsetDeleteResponse: Equatable {
    package var error = ErrorCode.none
    package var partitions = PartitionErrors(topics: [])

    package func write(to writer: inout WireWriter, version: Int16) {
        writer.error(error)
        partitions.write(to: &writer, hasThrottleTime: true)
    }
}
