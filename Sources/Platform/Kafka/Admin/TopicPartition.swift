package struct TopicPartition: Hashable, Sendable, CustomStringConvertible {
    package let topic: String
    package let partition: Int32

    package init(_ topic: String, _ partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    package var description: String { "\(topic)/\(partition)" }
}

/// An offset to commit: the next offset to read, with metadata for the next reader.
package struct OffsetToCommit: Hashable, Sendable {
    /// Kafka's limit of 4,096 bytes.
    package static let metadataBytesMax = 4096

    package let partition: TopicPartition
    package let offset: Int64
    package let metadata: String

    /// - Parameter metadata: ASCII text without zero bytes, because the client truncates other texts.
    package init(partition: TopicPartition, offset: Int64, metadata: String = "") {
        precondition(offset >= 0, "an offset to commit is not negative: \(offset)")
        precondition(
            metadata.utf8.allSatisfy { $0 > 0 && $0 < 0x80 } && metadata.utf8.count <= Self.metadataBytesMax,
            "commit metadata is ASCII of at most \(Self.metadataBytesMax) bytes")
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
    }
}

/// The offset that a group has committed for a partition. Nil if it never committed one.
package struct CommittedOffset: Hashable, Sendable {
    package let partition: TopicPartition
    package let offset: Int64?
    package let metadata: String

    /// The position of the next reader. Without a committed offset this is the beginning.
    package var start: PartitionStart {
        PartitionStart(partition: partition, position: offset.map { .offset($0) } ?? .beginning)
    }
}

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

/// The first offset that can still be read, and the offset of the next record. For a reader of committed
/// records, `high` is the last stable offset.
package struct Watermarks: Hashable, Sendable {
    package let low: Int64
    package let high: Int64

    package init(low: Int64, high: Int64) {
        self.low = low
        self.high = high
    }
}
