/// The pause between transactions under load, in which more reports gather. A transaction writes to every partition of
/// three topics, and each of them is synced twice. Without the pause, transactions of reports that follow one another
/// keep the disks of the cluster busy, and each transaction of a send waits behind them.
enum ReportGathering {
    /// A transaction counts as load from this number of reports.
    static let recordsMin = 64
    /// The pause, as a multiple of the duration of the last transaction.
    private static let durationMultiple = 2
    private static let millisecondsMax = 250

    /// Returns the pause after a transaction.
    ///
    /// - Parameter pauseMin: The pause after any transaction, in milliseconds.
    static func pauseMilliseconds(after records: Int, taking milliseconds: Int, atLeast pauseMin: Int) -> Int
    {
        guard records >= recordsMin else { return pauseMin }
        return max(pauseMin, min(millisecondsMax, durationMultiple * milliseconds))
    }
}
