internal import Lifecycle

/// The limit of each transaction to the work of one partition. It holds for some seconds after a transaction has failed
/// because a partition takes no records. The next failure then shows whose work has to wait.
struct OnePartitionLimit {
    /// The time for which the limit holds. It is enough for a turn of all partitions.
    private static let milliseconds = 5000

    private var end = Instant(nanoseconds: 0)
    /// The partition whose work the last limited transaction took.
    private var lastPartition: Int32 = -1

    mutating func begin(at now: Instant) { end = now.advanced(byMilliseconds: Self.milliseconds) }

    func holds(at now: Instant) -> Bool { now < end }

    /// Returns the partition whose work the next transaction takes: one after another.
    ///
    /// - Parameter partitions: those with work, in ascending order, at least one.
    mutating func nextPartition(of partitions: [Int32]) -> Int32 {
        let next = partitions.first { $0 > lastPartition } ?? partitions[0]
        lastPartition = next
        return next
    }
}
