/// The id of one attempt at the markers of a transaction.
package struct MarkersID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }
}

/// The decision about one transaction, for all its partitions and groups. To write a marker twice is
/// harmless. Without its marker, a partition's committed readers wait for ever.
package struct TransactionMarkers: Equatable, Sendable {
    package let producerID: Int64
    package let epoch: Int16
    package let commits: Bool
    package let partitions: [PartitionID]
    package let groups: [String]

    /// Returns the same decision for the remaining partitions and groups.
    package func restricted(to remaining: RemainingMarkers) -> TransactionMarkers {
        TransactionMarkers(
            producerID: producerID, epoch: epoch, commits: commits, partitions: remaining.partitions,
            groups: remaining.groups)
    }
}

/// The partitions and groups of a transaction that have no marker yet.
package struct RemainingMarkers: Equatable, Sendable {
    package var partitions: [PartitionID] = []
    package var groups: [String] = []

    package var isEmpty: Bool { partitions.isEmpty && groups.isEmpty }

    package init(partitions: [PartitionID] = [], groups: [String] = []) {
        self.partitions = partitions
        self.groups = groups
    }
}
