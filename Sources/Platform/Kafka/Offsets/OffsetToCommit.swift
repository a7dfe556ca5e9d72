/// An offset for a group to commit: the next offset to read in a partition, with metadata for the next
/// reader.
package struct OffsetToCommit: Hashable, Sendable {
    /// Kafka's limit (`offset.metadata.max.bytes`).
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
