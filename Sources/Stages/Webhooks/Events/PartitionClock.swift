internal import Lifecycle

/// The time in a partition, as its records tell it: the stamp of the last record that was read, plus the time since then.
///
/// Events wait for their last records by this clock. So no event is overdue while its records wait in a backlog, and a
/// wrong clock of this machine does not matter.
struct PartitionClock: Sendable {
    private var lastRecord: (stamp: Int64, readAt: Instant)?

    /// Notes a record.
    ///
    /// - Parameter stamp: The cluster's stamp in milliseconds since 1970.
    mutating func didRead(recordStampedAt stamp: Int64, at now: Instant) { lastRecord = (stamp, now) }

    /// Notes the end of a pause of reading. The time of the pause does not count, because no records were read in it.
    mutating func didResume(at now: Instant) { lastRecord?.readAt = now }

    /// Returns the time in milliseconds since 1970, or nil before the first record.
    func time(at now: Instant) -> Int64? {
        lastRecord.map { $0.stamp + Int64(now.milliseconds(since: $0.readAt)) }
    }
}
