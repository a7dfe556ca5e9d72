package import Lifecycle

/// When a provider token is made anew. Apple refuses tokens older than an hour, and refuses whoever
/// makes them more often than every twenty minutes; signing the same claims again makes another token.
///
/// Age is counted on the steady clock, so that a step of the wall clock neither keeps a dead token nor
/// makes new ones; the wall clock only fills in `iat`.
package struct ProviderTokenPolicy: Sendable {
    /// Made anew at this age, well before Apple's hour ends.
    package static let refreshMilliseconds = 50 * 60_000
    /// Never made anew before this age.
    package static let leastMilliseconds = 20 * 60_000
    /// Apple's own limit.
    package static let lastMilliseconds = 60 * 60_000

    package enum Decision: Sendable, Hashable {
        case keep
        case make
    }

    private var madeAt: Instant?
    /// APNs said that this token has expired, or that there were too many.
    private var isExpired = false
    private var restsUntil: Instant?

    package init() {}

    /// Before a push leaves.
    package func decide(at now: Instant) -> Decision {
        guard let madeAt else { return .make }
        let age = now.milliseconds(since: madeAt)
        if let restsUntil, now < restsUntil, age < Self.lastMilliseconds { return .keep }
        if age >= Self.refreshMilliseconds { return .make }
        return isExpired && age >= Self.leastMilliseconds ? .make : .keep
    }

    package mutating func made(at now: Instant) {
        madeAt = now
        isExpired = false
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
