package import Lifecycle
package import Telemetry

/// Decides when to make a new provider token. Apple refuses tokens older than one hour. It also refuses
/// providers that make tokens more often than every 20 minutes. Signing the same claims again makes another
/// token.
///
/// Age is measured on the steady clock. A wall clock only supplies `iat`. If the wall clock was stepped
/// later, the token's `iat` is wrong and APNs may refuse it. Then a new token is made, at most once in 20
/// minutes, however often the clock is stepped. If APNs has refused the token, one more is made.
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

    private var madeAt: Instant?
    /// Wall clock minus steady clock, in milliseconds, when the token was made.
    private var madeOffset: Int64 = 0
    private var steppedAt: Instant?
    /// Whether APNs reported that this token has expired.
    private var isExpired = false
    /// The same for a young token whose clock was wrong.
    private var isMisdated = false
    private var misdatedAt: Instant?
    private var pausedUntil: Instant?

    package init() {}

    /// Decides whether the next push needs a new token.
    package func decide(at now: Instant, wall: WallTime) -> Decision {
        guard let madeAt else { return .make }
        if isMisdated { return .make }
        let age = now.milliseconds(since: madeAt)
        if isClockStepped(at: now, wall: wall), mayMakeAgain(since: steppedAt, at: now) { return .make }
        if let pausedUntil, now < pausedUntil, age < Self.maximumAgeMilliseconds { return .keep }
        if age >= Self.refreshMilliseconds { return .make }
        return isExpired && age >= Self.minimumAgeMilliseconds ? .make : .keep
    }

    /// Records that a token was made.
    package mutating func recordToken(at now: Instant, wall: WallTime) {
        if isMisdated { misdatedAt = now } else if isClockStepped(at: now, wall: wall) { steppedAt = now }
        madeAt = now
        madeOffset = ProviderTokenPolicy.clockOffset(at: now, wall: wall)
        isExpired = false
        isMisdated = false
    }

    /// Records that the previous token is in use again.
    package mutating func restore(from former: ProviderTokenPolicy) {
        madeAt = former.madeAt
        madeOffset = former.madeOffset
        isExpired = false
        isMisdated = false
    }

    /// Whether a previous token can be used again: its time is right, and it is young.
    package func isReusable(at now: Instant, wall: WallTime) -> Bool {
        guard let madeAt, !isExpired, !isMisdated else { return false }
        return now.milliseconds(since: madeAt) < Self.refreshMilliseconds
            && !isClockStepped(at: now, wall: wall)
    }

    /// Whether the clock disagrees with the time in the token.
    package func isClockStepped(at now: Instant, wall: WallTime) -> Bool {
        guard madeAt != nil else { return false }
        let (step, isFar) = ProviderTokenPolicy.clockOffset(at: now, wall: wall).subtractingReportingOverflow(
            madeOffset)
        return isFar || step.magnitude >= ProviderTokenPolicy.stepMilliseconds.magnitude
    }

    private func mayMakeAgain(since last: Instant?, at now: Instant) -> Bool {
        if let pausedUntil, now < pausedUntil { return false }
        return last.map { now.milliseconds(since: $0) >= ProviderTokenPolicy.minimumAgeMilliseconds } ?? true
    }

    private static func clockOffset(at now: Instant, wall: WallTime) -> Int64 {
        wall.milliseconds &- now.milliseconds
    }

    /// Handles ExpiredProviderToken for the current token. Returns false if the token is too young to be
    /// replaced. Then the connection is at fault, and a new connection is the remedy.
    ///
    /// - Parameter isMisdated: whether a clock disagrees with the token.
    package mutating func handleExpired(at now: Instant, isMisdated: Bool) -> Bool {
        guard let madeAt else { return false }
        if now.milliseconds(since: madeAt) >= Self.minimumAgeMilliseconds {
            isExpired = true
        } else {
            guard isMisdated, mayMakeAgain(since: misdatedAt, at: now) else { return false }
            self.isMisdated = true
        }
        return true
    }

    /// Handles TooManyProviderTokenUpdates: this process, or another one with the same key, makes too many
    /// tokens.
    package mutating func handleTooMany(at now: Instant) {
        isExpired = false
        isMisdated = false
        pausedUntil = now.advanced(byMilliseconds: Self.minimumAgeMilliseconds)
    }
}
