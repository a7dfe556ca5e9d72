package import Lifecycle
package import Telemetry

/// When a provider token is made anew. Apple refuses tokens older than an hour, and refuses whoever
/// makes them more often than every twenty minutes; signing the same claims again makes another token.
///
/// Age is counted on the steady clock; the wall clock only fills in `iat`. When it has been stepped since,
/// the token says a time that never was and APNs may refuse it: it is made anew, once in twenty minutes,
/// however often the clock goes to and fro.
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
    /// APNs said that this token has expired, or that there were too many.
    private var isExpired = false
    private var restsUntil: Instant?

    package init() {}

    /// Before a push leaves.
    package func decide(at now: Instant, wall: WallTime) -> Decision {
        guard let madeAt else { return .make }
        let age = now.milliseconds(since: madeAt)
        if isStepped(at: now, wall), mayMakeForStep(at: now) { return .make }
        if let restsUntil, now < restsUntil, age < Self.lastMilliseconds { return .keep }
        if age >= Self.refreshMilliseconds { return .make }
        return isExpired && age >= Self.leastMilliseconds ? .make : .keep
    }

    /// Takes note of the token that was just made.
    package mutating func made(at now: Instant, wall: WallTime) {
        if isStepped(at: now, wall) { steppedAt = now }
        madeAt = now
        madeOffset = ProviderTokenPolicy.offset(now, wall)
        isExpired = false
    }

    /// The token before is in use again.
    package mutating func returned(to former: ProviderTokenPolicy) {
        madeAt = former.madeAt
        madeOffset = former.madeOffset
        isExpired = false
    }

    private func isStepped(at now: Instant, _ wall: WallTime) -> Bool {
        guard madeAt != nil else { return false }
        let (step, isFar) = ProviderTokenPolicy.offset(now, wall).subtractingReportingOverflow(madeOffset)
        return isFar || step.magnitude >= ProviderTokenPolicy.stepMilliseconds.magnitude
    }

    private func mayMakeForStep(at now: Instant) -> Bool {
        if let restsUntil, now < restsUntil { return false }
        return steppedAt.map { now.milliseconds(since: $0) >= ProviderTokenPolicy.leastMilliseconds } ?? true
    }

    private static func offset(_ now: Instant, _ wall: WallTime) -> Int64 {
        wall.milliseconds &- now.nanoseconds / 1_000_000
    }

    /// APNs answered ExpiredProviderToken to the present token. False when it is too young to be made
    /// anew: then the connection, or a clock, is at fault, and a new connection is the remedy.
    package mutating func expired(at now: Instant) -> Bool {
        guard let madeAt, now.milliseconds(since: madeAt) >= Self.leastMilliseconds else { return false }
        isExpired = true
        return true
    }

    /// APNs answered TooManyProviderTokenUpdates: somebody, perhaps another process, makes too many.
    package mutating func tooMany(at now: Instant) {
        isExpired = false
        restsUntil = now.advanced(byMilliseconds: Self.leastMilliseconds)
    }
}
