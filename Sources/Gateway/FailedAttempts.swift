package import Lifecycle

/// How often each peer has come with a key that is none, and how long its next refusal is held back. A
/// good key is never slowed, whoever else comes from the same address: behind a proxy all do.
///
/// Two tables of bounded size take turns, so that forgetting costs nothing: a peer is forgotten after
/// one to two windows of silence, or earlier when very many fail.
package struct FailedAttempts: Sendable {
    package static let windowMilliseconds = 60_000
    package static let peersMax = 10_000
    /// Attempts that are answered at once: a person who mistypes, a phone with an old build.
    package static let freeMax = 10
    package static let firstDelayMilliseconds = 100
    package static let delayMillisecondsMax = 3200

    private var recent: [String: Int] = [:]
    private var older: [String: Int] = [:]
    private var turnedAt: Instant

    package init(now: Instant) { turnedAt = now }

    /// How long the refusal is to be held back.
    package mutating func failed(_ peer: String, now: Instant) -> Int {
        let age = now.milliseconds(since: turnedAt)
        if age >= Self.windowMilliseconds || recent.count >= Self.peersMax {
            older = age >= 2 * Self.windowMilliseconds ? [:] : recent
            recent = [:]
            turnedAt = now
        }
        let count = (recent[peer] ?? older[peer] ?? 0) + 1
        recent[peer] = count
        let excess = count - Self.freeMax
        if excess <= 0 { return 0 }
        return min(Self.delayMillisecondsMax, Self.firstDelayMilliseconds << min(16, excess - 1))
    }

    package var peers: Int { recent.count + older.count }
}
