internal import Lifecycle

/// Stamps that are ahead of the machine's clock. `ClusterClock` believes them once they have come for its
/// confirmation time.
///
/// A record that is read again confirms nothing: the steady clock has moved on, so its stamp has a lower
/// offset now.
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

    /// Adds a stamp. Returns whether the stamps are confirmed: they have come for the confirmation time.
    mutating func add(offset newOffset: Int64, at now: Instant, confirmationMilliseconds: Int) -> Bool {
        // A stamp behind the others neither confirms nor contradicts them.
        guard newOffset >= offset - ClusterClock.agreementMilliseconds else { return false }
        offset = max(offset, newOffset)
        return now.milliseconds(since: since) >= confirmationMilliseconds
    }
}
