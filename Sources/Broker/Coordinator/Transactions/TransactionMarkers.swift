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
}
