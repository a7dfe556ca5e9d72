internal import Lifecycle

/// Under load a transaction waits for company. It writes to some fifty partitions, and each of them is synced twice,
/// whatever is in it: a planner that took what was there made forty transactions a second of 5,000 sends, and they kept
/// the cluster and the Kafka client busier than the sends did.
struct Gathering {
    /// A transaction of fewer records is no load, and nobody waits behind it.
    static let recordsMin = 64
    /// From the beginning of one transaction to that of the next: so many times what it took, so that they cost a share
    /// of the time, and no longer than this.
    private static let times = 3
    private static let millisecondsMax = 120

    private var until: Instant?

    /// A transaction of so many records began and ended then.
    mutating func took(_ records: Int, from began: Instant, to ended: Instant) {
        guard records >= Self.recordsMin else {
            until = nil
            return
        }
        let milliseconds = min(Self.millisecondsMax, Self.times * ended.milliseconds(since: began))
        until = began.advanced(byMilliseconds: milliseconds)
    }

    /// How long the next one is to wait.
    func millisecondsLeft(at now: Instant) -> Int { until.map { max(0, $0.milliseconds(since: now)) } ?? 0 }
}
