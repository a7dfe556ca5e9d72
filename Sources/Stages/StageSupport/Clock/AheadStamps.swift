internal import Lifecycle

/// Stamps that are ahead of a clock: of the time that `ClusterClock` knows, or of the machine's clock. They are
/// believed when they have lasted.
///
/// A record that is read again confirms nothing, because its stamp falls behind the steady clock.
struct AheadStamps: Sendable {
    /// The time of the first of these stamps.
    let since: Instant
    /// The highest stamp less the steady clock, in milliseconds.
    private(set) var offset: Int64

    /// Begins with a first stamp.
    init(offset: Int64, at now: Instant) {
        since = now
        self.offset = offset
    }

    /// Adds a stamp. Returns whether the stamps have lasted for a time.
    mutating func add(offset newOffset: Int64, at now: Instant, lastingMilliseconds milliseconds: Int) -> Bool
    {
        // A stamp behind the others neither confirms nor contradicts them.
        guard newOffset >= offset - ClusterClock.agreementMilliseconds else { return false }
        offset = max(offset, newOffset)
        return now.milliseconds(since: since) >= milliseconds
    }
}
