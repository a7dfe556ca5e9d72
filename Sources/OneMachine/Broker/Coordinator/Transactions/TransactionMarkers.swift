/// The id of one attempt at the markers of a transaction.
struct MarkersID: Hashable, Sendable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }
}

/// The decision about one transaction, for all its partitions and groups. To write a marker twice is
/// harmless. Without its marker, a partition's committed readers wait for ever.
struct TransactionMarkers: Equatable, Sendable {
    let producerID: Int64
    let epoch: Int16
    let commits: Bool
    let partitions: [TopicPartition]
    let groups: [String]

    /// Returns the same decision for the remaining partitions and groups.
    func restricted(to remaining: RemainingMarkers) -> TransactionMarkers {
        TransactionMarkers(
            producerID: producerID, epoch: epoch, commits: commits, partitions: remaining.partitions,
            groups: remaining.groups)
    }
}

/// The partitions and groups of a transaction that have no marker yet.
struct RemainingMarkers: Equatable, Sendable {
    var partitions: [TopicPartition] = []
    var groups: [String] = []

    var isEmpty: Bool { partitions.isEmpty && groups.isEmpty }
}
