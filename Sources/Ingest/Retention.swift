internal import LiveActivity

/// How long what is kept for, in milliseconds. Together they make forgetting invisible: whatever could
/// still arrive and matter finds what it must be measured against.
package enum Retention {
    /// A report may lie in its topic for seven days; what was received earlier is refused.
    package static let reportMilliseconds: Int64 = 8 * 86_400_000
    /// The clock of a record's writer may be ahead by this much.
    package static let clockMilliseconds: Int64 = 5 * 60_000
    /// Rows under a recipient that the installation has left.
    package static let movedMilliseconds: Int64 = 24 * 3_600_000
    /// APNs and we do not read the same clock.
    package static let refusalGraceMilliseconds: Int64 = 1_000

    /// An installation that has nothing to start with, since it was last heard of.
    package static let tokenlessMilliseconds: Int64 = 90 * 86_400_000

    /// Until when it is remembered that all up to then is to be forgotten. A phone may keep a report to itself
    /// for so long, and then the topic may.
    static func erasure(at time: ReportTime) -> Int64 {
        time.received + ReportTime.delayMillisecondsMax + reportMilliseconds
    }

    /// An activity, beyond the life of its token. A report that is older than the last word on it was
    /// received at most `delayMillisecondsMax` after that word, and the token in it lives for its time
    /// from then: once both are over, nothing that is refused because of this record could come alive.
    static func activity(tokenMilliseconds: Int64) -> Int64 {
        ReportTime.delayMillisecondsMax + tokenMilliseconds
    }
}
