package import Lifecycle

/// Counts of each peer's requests with a bad key, and the delay of its next refusal. A good key is never
/// delayed, also not behind a proxy that hides good and bad clients at one address.
///
/// Two tables of bounded size take turns, so that forgetting is cheap. A peer is forgotten after one to two
/// windows of silence, or earlier if very many peers fail.
package struct FailedAttempts: Sendable {
    package static let windowMilliseconds = 60_000
    package static let peersMax = 10_000
    /// The attempts that are answered at once. They allow for typing errors and for phones with an old build.
    package static let undelayedMax = 10
    package static let firstDelayMilliseconds = 100
    package static let delayMillisecondsMax = 3200

    private var recent: [String: Int] = [:]
    private var older: [String: Int] = [:]
    private var rotatedAt: Instant

    package init(now: Instant) { rotatedAt = now }

    /// Counts a failure and returns the delay of its refusal in milliseconds.
    package mutating func recordFailure(of peer: String, now: Instant) -> Int {
        let age = now.milliseconds(since: rotatedAt)
        if age >= Self.windowMilliseconds || recent.count >= Self.peersMax {
            older = age >= 2 * Self.windowMilliseconds ? [:] : recent
            recent = [:]
            rotatedAt = now
        }
        let count = (recent[peer] ?? older[peer] ?? 0) + 1
        recent[peer] = count
        let excess = count - Self.undelayedMax
        if excess <= 0 { return 0 }
        return min(Self.delayMillisecondsMax, Self.firstDelayMilliseconds << min(16, excess - 1))
    }

    package var peerCount: Int { recent.count + older.count }
}
