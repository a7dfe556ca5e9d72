internal import InstallationRecords

/// The retention periods, in milliseconds. Together they ensure that no late report revives a forgotten
/// state: while such a report can arrive, the state that rejects it is kept.
package enum Retention {
    /// The topic keeps a report for seven days. An older report is rejected.
    package static let reportMilliseconds: Int64 = 8 * 86_400_000
    /// The limit by which the clock of a record's writer may be ahead.
    package static let clockSkewMillisecondsMax: Int64 = 5 * 60_000
    /// The life of rows under a recipient that the installation left.
    package static let movedRowsMilliseconds: Int64 = 24 * 3_600_000
    /// The tolerance between APNs' clock and ours.
    package static let refusalGraceMilliseconds: Int64 = 1_000

    /// The life of an installation without a start token, after its last report.
    package static let tokenlessMilliseconds: Int64 = 90 * 86_400_000

    /// Returns the time until which an erasure is remembered. A phone can hold a report for the first period,
    /// and the topic for the second.
    static func erasureEnd(from time: ReportTime) -> Int64 {
        time.received + ReportTime.delayMillisecondsMax + reportMilliseconds
    }

    /// Returns how long an activity outlives its last report. An older report arrives at most
    /// `delayMillisecondsMax` after the last one, and its token lives from then on. After both periods no
    /// token that this record rejects can be valid.
    static func activityMilliseconds(tokenMilliseconds: Int64) -> Int64 {
        ReportTime.delayMillisecondsMax + tokenMilliseconds
    }
}
