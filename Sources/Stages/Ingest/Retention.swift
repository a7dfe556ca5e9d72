internal import InstallationRecords

/// The retention periods, in milliseconds. Together they ensure that no late report revives a forgotten
/// state: while such a report can arrive, the state that rejects it is kept.
package enum Retention {
    /// The age from which a report is rejected. The topic keeps reports for seven days. An older one was put back
    /// later, so its order among the other reports is unknown.
    package static let reportAgeMillisecondsMax: Int64 = 8 * 86_400_000
    /// The time by which the stamp of a record may be ahead of the time for decisions.
    package static let clockSkewMillisecondsMax: Int64 = 5 * 60_000
    /// The lifetime of rows under a recipient that the installation left.
    package static let movedRowsMilliseconds: Int64 = 24 * 3_600_000
    /// The tolerance for a difference between the clocks of APNs and of the cluster.
    package static let refusalGraceMilliseconds: Int64 = 1_000

    /// The lifetime of an installation without a start token, after its last report.
    package static let tokenlessMilliseconds: Int64 = 90 * 86_400_000

    /// Returns the time until which an erasure is remembered. A phone can hold an older report back for the first
    /// period, and the topic for the second.
    static func erasureEnd(from time: ReportTime) -> Int64 {
        time.received + ReportTime.delayMillisecondsMax + reportAgeMillisecondsMax
    }

    /// Returns the time for which the record of an activity outlives its last report, so that it rejects older reports.
    /// Such a report arrives at most `delayMillisecondsMax` after the last one, and its token would live from then on.
    ///
    /// - Parameter tokenMilliseconds: the lifetime of the activity's update token.
    static func activityMilliseconds(tokenMilliseconds: Int64) -> Int64 {
        ReportTime.delayMillisecondsMax + tokenMilliseconds
    }
}
