/// A partition, and the position at which reading it starts.
package struct PartitionStart: Hashable, Sendable {
    package enum Position: Hashable, Sendable {
        case offset(Int64)
        case beginning
        case end
    }

    package let partition: TopicPartition
    package let position: Position

    package init(partition: TopicPartition, position: Position) {
        self.partition = partition
        self.position = position
    }
}
