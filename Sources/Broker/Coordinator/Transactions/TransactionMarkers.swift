/// Names one set of markers that must be written before a transaction is over.
struct MarkersID: Hashable, Sendable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }
}

/// The decision about one transaction, for every partition and every group it touched. Writing a
/// marker again is harmless; leaving one out is not.
struct TransactionMarkers: Equatable, Sendable {
    let producerID: Int64
    let epoch: Int16
    let commits: Bool
    let partitions: [TopicPartition]
    let groups: [String]

    /// The same decision for a part of them.
    func only(_ left: MarkersLeft) -> TransactionMarkers {
        TransactionMarkers(
            producerID: producerID, epoch: epoch, commits: commits, partitions: left.partitions,
            groups: left.groups)
    }
}

/// The partitions and groups of a transaction that have no marker yet.
struct MarkersLeft: Equatable, Sendable {
    var partitions: [TopicPartition] = []
    var groups: [String] = []

    var isEmpty: Bool { partitions.isEmpty && groups.isEmpty }
}
