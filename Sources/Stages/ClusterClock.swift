package import Lifecycle
package import Telemetry

/// What time it is by the cluster's clock, as the stamps of what was just stored tell it: dates are given and judged
/// by that time, so that no machine's wrong clock bends them.
///
/// A stamp can only be old when it comes, so of those of the last minute or two the one that makes it latest
/// is right.
package struct ClusterClock: Sendable {
    package static let windowMilliseconds = 60_000
    /// What can be counted with.
    package static let stamps: ClosedRange<Int64> = 1...1 << 53

    /// The cluster's time less the steady clock, in milliseconds: the greatest of this window and of the one before.
    private var recent: Int64?
    private var older: Int64?
    private var turnedAt: Instant

    package init(now: Instant) { turnedAt = now }

    /// Something was stored a moment ago.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func saw(_ stamp: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let age = now.milliseconds(since: turnedAt)
        if age >= Self.windowMilliseconds {
            older = age >= 2 * Self.windowMilliseconds ? nil : recent
            recent = nil
            turnedAt = now
        }
        let difference = stamp - now.nanoseconds / 1_000_000
        recent = max(recent ?? difference, difference)
    }

    /// Nil while nothing is known.
    package func time(at now: Instant) -> WallTime? {
        guard let difference = [recent, older].compactMap(\.self).max() else { return nil }
        return WallTime(milliseconds: difference + now.nanoseconds / 1_000_000)
    }
}
