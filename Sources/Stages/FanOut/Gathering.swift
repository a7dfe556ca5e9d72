internal import Lifecycle

/// The pause between transactions under load, in which more records gather. A transaction writes to about
/// fifty partitions, and each of them is synced twice. A planner without this pause made forty
/// transactions a second of 5,000 sends. They cost the cluster and the Kafka client more than the sends did.
struct Gathering {
    /// The least records of a transaction that counts as load. After a smaller one the loop does not pause.
    static let recordsMin = 64
    /// The time from the start of one transaction to the start of the next, as a multiple of the first one's
    /// duration. So transactions take only a share of the time. `millisecondsMax` limits the pause.
    private static let times = 3
    private static let millisecondsMax = 120

    private var until: Instant?

    /// Notes a transaction with its number of records, its start and its end.
    mutating func took(_ records: Int, from began: Instant, to ended: Instant) {
        guard records >= Self.recordsMin else {
            until = nil
            return
        }
        let milliseconds = min(Self.millisecondsMax, Self.times * ended.milliseconds(since: began))
        until = began.advanced(byMilliseconds: milliseconds)
    }

    /// Returns the time for which the next transaction must wait.
    func millisecondsLeft(at now: Instant) -> Int { until.map { max(0, $0.milliseconds(since: now)) } ?? 0 }
}
