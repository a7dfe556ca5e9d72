package import Lifecycle

/// The failed attempts of each peer: its requests whose key was refused. They decide how long its next refusal is
/// delayed. The delay slows down guessing of keys. Only refusals are delayed, so a proxy that hides good and bad
/// clients at one address delays no good key.
///
/// The memory is bounded by two tables: failures count in `recent`, which becomes `older` after a window. A peer is
/// forgotten one to two windows after its last failure, or earlier if very many peers fail.
package struct FailedAttempts: Sendable {
    package static let windowMilliseconds = 60_000
    /// The peers in each of the two tables.
    package static let peersMax = 10_000
    /// The failures that are answered at once. They allow for typing errors and for phones with an old build.
    package static let undelayedMax = 10
    package static let firstDelayMilliseconds = 100
    package static let delayMillisecondsMax = 3200
    /// More doublings than are needed to reach `delayMillisecondsMax`. The limit keeps the shift from overflowing.
    private static let doublingsMax = 16

    /// The number of failures by peer.
    private var recent: [String: Int] = [:]
    private var older: [String: Int] = [:]
    private var rotatedAt: Instant

    package init(now: Instant) { rotatedAt = now }

    /// Counts a failure and returns the delay of its refusal in milliseconds.
    package mutating func recordFailure(of peer: String, now: Instant) -> Int {
        rotateTables(now: now)
        let count = (recent[peer] ?? older[peer] ?? 0) + 1
        recent[peer] = count
        let delayedCount = count - Self.undelayedMax
        if delayedCount <= 0 { return 0 }
        // The delay doubles with each failure.
        let doublings = min(Self.doublingsMax, delayedCount - 1)
        return min(Self.delayMillisecondsMax, Self.firstDelayMilliseconds << doublings)
    }

    private mutating func rotateTables(now: Instant) {
        let age = now.milliseconds(since: rotatedAt)
        guard age >= Self.windowMilliseconds || recent.count >= Self.peersMax else { return }
        older = age >= 2 * Self.windowMilliseconds ? [:] : recent
        recent = [:]
        rotatedAt = now
    }

    package var peerCount: Int { recent.count + older.count }
}
