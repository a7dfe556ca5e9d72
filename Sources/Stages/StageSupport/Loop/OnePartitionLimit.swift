internal import Lifecycle

/// The limit of each transaction to the work of one partition. It holds for some seconds after a transaction has failed
/// because a partition takes no records. The next failure then shows whose work has to wait.
struct OnePartitionLimit {
    /// The time for which the limit holds. It is enough for a turn of all partitions.
    private static let milliseconds = 5000

    private var end = Instant(nanoseconds: 0)
    /// The partition whose work the last limited transaction took.
    private var lastPartition: Int32?

    mutating func begin(at now: Instant) { end = now.advanced(byMilliseconds: Self.milliseconds) }

    func holds(at now: Instant) -> Bool { now < end }

    /// Returns the partition whose work the next transaction takes. All partitions take turns.
    ///
    /// - Parameter partitions: the partitions with work, in ascending order, at least one.
    mutating func nextPartition(of partitions: [Int32]) -> Int32 {
        let nextHigher = lastPartition.flatMap { last in partitions.first { $0 > last } }
        let next = nextHigher ?? partitions[0]
        lastPartition = next
        return next
    }
}
