/// The offset that a group has committed for a partition.
package struct CommittedOffset: Hashable, Sendable {
    package let partition: TopicPartition
    /// Nil if the group never committed one.
    package let offset: Int64?
    package let metadata: String

    /// The start of the next reader. Without a committed offset this is the beginning.
    package var start: PartitionStart {
        PartitionStart(partition: partition, position: offset.map { .offset($0) } ?? .beginning)
    }
}
