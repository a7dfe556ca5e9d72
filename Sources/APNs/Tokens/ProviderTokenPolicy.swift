package import Lifecycle
package import Telemetry

/// When a provider token is made anew. Apple refuses tokens older than an hour, and refuses whoever
/// makes them more often than every twenty minutes; signing the same claims again makes another token.
///
/// Age is counted on the steady clock; a wall clock only fills in `iat`. When it has been stepped since,
/// the token says a time that never was and APNs may refuse it: it is made anew, once in twenty minutes,
/// however often the clock goes to and fro; and when APNs has refused it, once more.
package struct ProviderTokenPolicy: Sendable {
    /// Made anew at this age, well before Apple's hour ends.
    package static let refreshMilliseconds = 50 * 60_000
    /// Never made anew before this age.
    package static let leastMilliseconds = 20 * 60_000
    /// Apple's own limit.
    package static let lastMilliseconds = 60 * 60_000
    /// A wall clock that has gone this much otherwise than the steady one was stepped: clocks that are
    /// corrected slowly drift less in an hour.
    package static let stepMilliseconds: Int64 = 60_000

    package enum Decision: Sendable, Hashable {
        case keep
        case make
    }

    private var madeAt: Instant?
    /// The wall clock less the steady one, in milliseconds, when the token was made.
    private var madeOffset: Int64 = 0
    private var steppedAt: Instant?
    /// APNs said that this token has expired.
    private var isExpired = false
    /// The same of one that is young, and was made by a clock that says otherwise.
    private var isMisdated = false
    private var misdatedAt: Instant?
    private var restsUntil: Instant?

    package init() {}

    /// Before a push leaves.
    package func decide(at now: Instant, wall: WallTime) -> Decision {
        guard let madeAt else { return .make }
        if isMisdated { return .make }
        let age = now.milliseconds(since: madeAt)
        if isStepped(at: now, wall: wall), mayMakeAgain(since: steppedAt, at: now) { return .make }
        if let restsUntil, now < restsUntil, age < Self.lastMilliseconds { return .keep }
        if age >= Self.refreshMilliseconds { return .make }
        return isExpired && age >= Self.leastMilliseconds ? .make : .keep
    }

    /// Takes note of the token that was just made.
    package mutating func made(at now: Instant, wall: WallTime) {
        if isMisdated { misdatedAt = now } else if isStepped(at: now, wall: wall) { steppedAt = now }
        madeAt = now
        madeOffset = ProviderTokenPolicy.offset(now, wall)
        isExpired = false
        isMisdated = false
    }

    /// The token before is in use again.
    package mutating func returned(to former: ProviderTokenPolicy) {
        madeAt = former.madeAt
        madeOffset = former.madeOffset
        isExpired = false
        isMisdated = false
    }

    /// Whether a token that is not the present one may be that again: it says the right time, and is young.
    package func isGood(at now: Instant, wall: WallTime) -> Bool {
        guard let madeAt, !isExpired, !isMisdated else { return false }
        return now.milliseconds(since: madeAt) < Self.refreshMilliseconds && !isStepped(at: now, wall: wall)
    }

    /// Whether the clock says otherwise than the one that the token was made by.
    package func isStepped(at now: Instant, wall: WallTime) -> Bool {
        guard madeAt != nil else { return false }
        let (step, isFar) = ProviderTokenPolicy.offset(now, wall).subtractingReportingOverflow(madeOffset)
        return isFar || step.magnitude >= ProviderTokenPolicy.stepMilliseconds.magnitude
    }

    private func mayMakeAgain(since last: Instant?, at now: Instant) -> Bool {
        if let restsUntil, now < restsUntil { return false }
        return last.map { now.milliseconds(since: $0) >= ProviderTokenPolicy.leastMilliseconds } ?? true
    }

    private static func offset(_ now: Instant, _ wall: WallTime) -> Int64 {
        wall.milliseconds &- now.nanoseconds / 1_000_000
    }

    /// APNs answered ExpiredProviderToken to the present token. False when it is too young to be made
    /// anew: then the connection is at fault, and a new one is the remedy.
    ///
    /// - Parameter isMisdated: there is a clock that says otherwise than the token.
    package mutating func expired(at now: Instant, isMisdated: Bool) -> Bool {
        guard let madeAt else { return false }
        if now.milliseconds(since: madeAt) >= Self.leastMilliseconds {
            isExpired = true
        } else {
            guard isMisdated, mayMakeAgain(since: misdatedAt, at: now) else { return false }
            self.isMisdated = true
        }
        return true
    }

    /// APNs answered TooManyProviderTokenUpdates: somebody, perhaps another process, makes too many.
    package mutating func tooMany(at now: Instant) {
        isExpired = false
        isMisdated = false
        restsUntil = now.advanced(byMilliseconds: Self.leastMilliseconds)
    }
}
