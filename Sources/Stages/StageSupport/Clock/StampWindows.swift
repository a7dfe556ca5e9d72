internal import Lifecycle

/// The believed stamps of the last one to two minutes. The highest one tells the time, because a record with
/// a lower stamp has waited.
///
/// The highest stamp of a window counts in this window and in the next one. Without new stamps it counts
/// longer, and the steady clock measures the time since then.
struct StampWindows: Sendable {
    private static let windowMilliseconds = 60_000

    /// The highest offset of a stamp in this window.
    private var recentOffset: Int64?
    /// The highest offset of a stamp in the window before.
    private var olderOffset: Int64?
    /// The beginning of this window.
    private var startedAt: Instant

    init(startedAt: Instant) { self.startedAt = startedAt }

    /// The highest offset of a stamp in both windows. Nil before the first stamp.
    var highestOffset: Int64? { [recentOffset, olderOffset].compactMap(\.self).max() }

    mutating func add(offset: Int64, at now: Instant) {
        let age = now.milliseconds(since: startedAt)
        let hasWindowEnded = age >= Self.windowMilliseconds
        if hasWindowEnded {
            // The steady clock drifts. So after two windows without a stamp, a current stamp replaces all others. An older
            // stamp does not, because its record may have waited.
            let mayHaveDrifted = age >= 2 * Self.windowMilliseconds
            let isCurrent = highestOffset.map { offset >= $0 - ClusterClock.agreementMilliseconds } ?? false
            olderOffset = mayHaveDrifted && isCurrent ? nil : recentOffset
            (recentOffset, startedAt) = (nil, now)
        }
        recentOffset = max(recentOffset ?? offset, offset)
    }
}
