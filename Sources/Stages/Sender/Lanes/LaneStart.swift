/// The offsets and metadata from which an assigned lane starts.
package struct LaneStart: Sendable, Hashable {
    package var lane: Int32
    /// One partition per topic, in the order of `JobTopic`.
    package var partitions: [LanePartitionStart]

    package init(lane: Int32, partitions: [LanePartitionStart]) {
        precondition(partitions.count == JobTopic.allCases.count, "a lane is a partition of each topic")
        self.lane = lane
        self.partitions = partitions
    }

    subscript(topic: JobTopic) -> LanePartitionStart { partitions[topic.rawValue] }
}

/// The offset and metadata from which one partition of an assigned lane starts.
package struct LanePartitionStart: Sendable, Hashable {
    /// The group's committed offset, or the partition's beginning if the group has no offset.
    package var base: Int64
    /// The metadata of that offset, if an earlier owner left some.
    package var metadata: CommitMetadata?

    package init(base: Int64, metadata: CommitMetadata?) {
        self.base = base
        self.metadata = metadata
    }
}
