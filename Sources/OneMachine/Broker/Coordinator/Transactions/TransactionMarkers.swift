/// The id of a set of markers that must be written before a transaction is over.
struct MarkersID: Hashable, Sendable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }
}

/// The decision about one transaction, for all its partitions and groups. To write a marker twice is
/// harmless; to leave one out is not.
struct TransactionMarkers: Equatable, Sendable {
    let producerID: Int64
    let epoch: Int16
    let commits: Bool
    let partitions: [TopicPartition]
    let groups: [String]

    /// Returns the same decision for some of the partitions and groups.
    func restricted(to left: RemainingMarkers) -> TransactionMarkers {
        TransactionMarkers(
            producerID: producerID, epoch: epoch, commits: commits, partitions: left.partitions,
            groups: left.groups)
    }
}

/// The partitions and groups of a transaction that have no marker yet.
struct RemainingMarkers: Equatable, Sendable {
    var partitions: [TopicPartition] = []
    var groups: [String] = []

    var isEmpty: Bool { partitions.isEmpty && groups.isEmpty }
}
