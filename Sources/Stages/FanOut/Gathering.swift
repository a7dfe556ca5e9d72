/// The pause between transactions under load, in which more records gather. A transaction writes to about
/// fifty partitions, and each of them is synced twice. A planner without this pause made forty
/// transactions a second of 5,000 sends. They cost the cluster and the Kafka client more than the sends did.
enum Gathering {
    /// The least records of a transaction that counts as load. After a smaller one the loop does not pause.
    static let recordsMin = 64
    /// The time from the start of one transaction to the start of the next, as a multiple of the first one's
    /// duration. So transactions take only a share of the time. `millisecondsMax` limits the pause.
    private static let durationMultiple = 3
    private static let millisecondsMax = 120

    /// Returns the pause after a transaction.
    static func pauseMilliseconds(after records: Int, taking milliseconds: Int) -> Int {
        guard records >= recordsMin else { return 0 }
        return max(0, min(millisecondsMax, durationMultiple * milliseconds) - milliseconds)
    }
}
