package import Lifecycle
package import Telemetry

/// The rules for making a provider token, without the token itself. Apple refuses tokens older than one hour. It
/// also refuses providers that make tokens more often than every 20 minutes. Signing the same claims again
/// makes another token.
///
/// Age is measured on the steady clock. A wall clock only supplies `iat`, the time in the token. If the wall
/// clock was set to another time after the token was made, `iat` may be wrong, and APNs may refuse the token.
/// Then a new token is made before it is 20 minutes old, at most once in 20 minutes, however often the clock is
/// set. If APNs has refused a young token, one more is made.
package struct ProviderTokenPolicy: Sendable {
    /// Age at which a new token is made, well before Apple's limit of one hour.
    package static let refreshMilliseconds = 50 * 60_000
    /// Minimum age before a new token is made.
    package static let minimumAgeMilliseconds = 20 * 60_000
    /// Apple's own limit.
    package static let maximumAgeMilliseconds = 60 * 60_000
    /// Disagreement between the wall clock and the steady clock that counts as a step. A clock that is slewed
    /// drifts less in an hour.
    package static let stepMilliseconds: Int64 = 60_000

    package enum Decision: Sendable, Hashable {
        case keep
        case make
    }

    /// The state of a token that APNs reported as expired.
    private enum Refusal: Sendable {
        /// The token is older than 20 minutes and is replaced.
        case expired
        /// The token is younger, but a clock disagrees with its `iat`. It is replaced at once.
        case misdated
    }

    // The token in use.

    private var madeAt: Instant?
    /// Wall clock minus steady clock, in milliseconds, when the token was made.
    private var madeOffset: Int64 = 0
    private var refusal: Refusal?

    // Kept when the token is replaced, so that each exception to the age of 20 minutes is used at most once
    // in 20 minutes.

    /// Time at which a token was last made because the clock had been set.
    private var replacedForStepAt: Instant?
    /// Time at which a token was last made because APNs had refused a young one.
    private var replacedForRefusalAt: Instant?
    /// End of the pause after APNs reported that tokens are made too often. Until then only a token older than
    /// an hour is replaced.
    private var pausedUntil: Instant?

    package init() {}

    /// Decides whether the next push needs a new token. A token is made
    ///
    /// 1. if no token exists, or APNs refused a young one whose `iat` was wrong,
    /// 2. after a step of the clock, once in 20 minutes,
    /// 3. but not during a pause,
    /// 4. at an age of 50 minutes,
    /// 5. at an age of 20 minutes, if APNs refused the token.
    package func decide(at now: Instant, wall: WallTime) -> Decision {
        guard let madeAt else { return .make }
        if refusal == .misdated { return .make }
        let age = now.milliseconds(since: madeAt)
        if isClockStepped(at: now, wall: wall), mayReplace(since: replacedForStepAt, at: now) { return .make }
        if let pausedUntil, now < pausedUntil, age < Self.maximumAgeMilliseconds { return .keep }
        if age >= Self.refreshMilliseconds { return .make }
        return refusal == .expired && age >= Self.minimumAgeMilliseconds ? .make : .keep
    }

    /// Records that a token was made.
    package mutating func recordToken(at now: Instant, wall: WallTime) {
        if refusal == .misdated {
            replacedForRefusalAt = now
        } else if isClockStepped(at: now, wall: wall) {
            replacedForStepAt = now
        }
        madeAt = now
        madeOffset = Self.clockOffset(at: now, wall: wall)
        refusal = nil
    }

    /// Records that a previous token is in use again. The exceptions stay used, so the return to an old token
    /// allows no new one.
    package mutating func restore(from former: ProviderTokenPolicy) {
        madeAt = former.madeAt
        madeOffset = former.madeOffset
        refusal = nil
    }

    /// Handles ExpiredProviderToken for the current token. Returns false if the token is too young to be
    /// replaced. Then the connection is at fault, and a new connection is the remedy.
    ///
    /// - Parameter isMisdated: whether a clock disagrees with the token.
    package mutating func handleExpired(at now: Instant, isMisdated: Bool) -> Bool {
        guard let madeAt else { return false }
        if now.milliseconds(since: madeAt) >= Self.minimumAgeMilliseconds {
            // A misdated token grows older until it is replaced, and stays misdated.
            if refusal != .misdated { refusal = .expired }
            return true
        }
        guard isMisdated, mayReplace(since: replacedForRefusalAt, at: now) else { return false }
        refusal = .misdated
        return true
    }

    /// Handles TooManyProviderTokenUpdates: this process, or another one with the same key, makes too many
    /// tokens.
    package mutating func handleTooMany(at now: Instant) {
        refusal = nil
        pausedUntil = now.advanced(byMilliseconds: Self.minimumAgeMilliseconds)
    }

    /// Whether a previous token can be used again: its time is right, and it is young.
    package func isReusable(at now: Instant, wall: WallTime) -> Bool {
        guard let madeAt, refusal == nil else { return false }
        return now.milliseconds(since: madeAt) < Self.refreshMilliseconds
            && !isClockStepped(at: now, wall: wall)
    }

    /// Whether the clock disagrees with the time in the token.
    package func isClockStepped(at now: Instant, wall: WallTime) -> Bool {
        guard madeAt != nil else { return false }
        let offset = Self.clockOffset(at: now, wall: wall)
        let (step, overflows) = offset.subtractingReportingOverflow(madeOffset)
        return overflows || step.magnitude >= Self.stepMilliseconds.magnitude
    }

    /// Whether an exception may be used now. It was last used at `lastReplacedAt`, or never.
    private func mayReplace(since lastReplacedAt: Instant?, at now: Instant) -> Bool {
        if let pausedUntil, now < pausedUntil { return false }
        guard let lastReplacedAt else { return true }
        return now.milliseconds(since: lastReplacedAt) >= Self.minimumAgeMilliseconds
    }

    private static func clockOffset(at now: Instant, wall: WallTime) -> Int64 {
        wall.milliseconds &- now.milliseconds
    }
}
