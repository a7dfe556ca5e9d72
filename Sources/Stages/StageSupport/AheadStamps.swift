internal import Lifecycle

/// Stamps that are ahead of a clock: of the time that the cluster's clock knows, or of the machine's. They are believed
/// when they have lasted.
///
/// A record that is read again confirms nothing, because its stamp falls behind the steady clock.
struct AheadStamps {
    /// The time of the first of these stamps.
    let since: Instant
    /// The highest stamp less the steady clock, in milliseconds.
    private(set) var offset: Int64

    init(offset: Int64, at now: Instant) {
        since = now
        self.offset = offset
    }

    /// Adds a stamp to `stamps`, which is nil before the first one. Returns whether the stamps have been ahead for
    /// `milliseconds`.
    static func record(
        offset: Int64, at now: Instant, in stamps: inout AheadStamps?, lastingMilliseconds milliseconds: Int
    ) -> Bool {
        guard var known = stamps else {
            stamps = AheadStamps(offset: offset, at: now)
            return milliseconds <= 0
        }
        // A stamp behind the others neither confirms nor contradicts them.
        guard offset >= known.offset - ClusterClock.stepMilliseconds else { return false }
        known.offset = max(known.offset, offset)
        stamps = known
        return now.milliseconds(since: known.since) >= milliseconds
    }
}
