internal import Cryptography
internal import Lifecycle
internal import Telemetry

/// One key with its current and its previous token. Apple expects the previous one again when tokens are made
/// too often. It is also valid again when a clock was stepped and then corrected.
struct ProviderSigner {
    private struct SignedToken {
        let text: String
        let at: Instant
        /// The policy when the token was made, or when another token replaced it.
        var policy: ProviderTokenPolicy
    }

    let name: ProviderKeyName
    var file: ProviderKeyFile
    /// Keys and tokens are numbered across the process, so that none is mistaken for another key's.
    private(set) var keyRevision: Int
    /// Incremented with each token that was made early. Apple's limit of 20 minutes applies to each
    /// connection.
    private(set) var earlyTokenCount = 0
    private(set) var revision = 0
    /// Index of the clock that dates `iat`.
    private var clock = 0
    private var policy = ProviderTokenPolicy()
    private var current: SignedToken?
    private var previous: SignedToken?
    private var tooManyReportedAt: Instant?
    private(set) var signedCount = 0

    init(name: ProviderKeyName, file: ProviderKeyFile, keyRevision: Int) {
        self.name = name
        self.file = file
        self.keyRevision = keyRevision
    }

    /// Returns the current token and makes a new one if it is time. Signing takes a few microseconds, about
    /// every 50 minutes.
    mutating func bearer(at now: Instant, by clocks: ProviderClocks, nextRevision next: () -> Int)
        -> BearerToken
    {
        let wall = clocks.times[clock]
        if current != nil, policy.isClockStepped(at: now, wall: wall),
            let previous, previous.policy.isReusable(at: now, wall: wall)
        {
            restore(previous, revision: next())
        } else if current == nil || policy.decide(at: now, wall: wall) == .make {
            signToken(at: now, wall: wall, revision: next())
        }
        return BearerToken(
            text: current?.text ?? "", revision: revision, keyRevision: keyRevision,
            earlyTokenCount: earlyTokenCount)
    }

    private mutating func signToken(at now: Instant, wall: WallTime, revision: Int) {
        let token = ProviderToken.make(teamID: name.teamID, keyID: name.keyID, key: file.key, at: wall)
        if let current, now.milliseconds(since: current.at) < ProviderTokenPolicy.minimumAgeMilliseconds {
            earlyTokenCount += 1
        }
        keepCurrentAsPrevious()
        policy.recordToken(at: now, wall: wall)
        current = SignedToken(text: "bearer \(token)", at: now, policy: policy)
        self.revision = revision
        signedCount += 1
    }

    private mutating func restore(_ former: SignedToken, revision: Int) {
        keepCurrentAsPrevious()
        current = former
        policy.restore(from: former.policy)
        self.revision = revision
        earlyTokenCount += 1
    }

    private mutating func keepCurrentAsPrevious() {
        previous = current
        previous?.policy = policy
    }

    /// Handles ExpiredProviderToken for the token of this revision. Returns true if there is, or will be, a
    /// newer token.
    mutating func handleExpired(revision: Int, at now: Instant, by clocks: ProviderClocks) -> Bool {
        if revision < self.revision { return true }
        let better = misdatingClock(in: clocks, at: now)
        guard policy.handleExpired(at: now, isMisdated: better != nil) else { return false }
        clock = better ?? clock
        return true
    }

    /// Returns the clock that disagrees with the token. The clock in use comes first.
    private func misdatingClock(in clocks: ProviderClocks, at now: Instant) -> Int? {
        ([clock] + clocks.times.indices).first { policy.isClockStepped(at: now, wall: clocks.times[$0]) }
    }

    /// Handles TooManyProviderTokenUpdates for the token of this revision. Returns to the previous token and
    /// pauses. The result is true for the first of the answers that many pushes get.
    mutating func handleTooMany(revision: Int, at now: Instant, nextRevision next: () -> Int) -> Bool {
        guard revision == self.revision else { return false }
        if let previous, now.milliseconds(since: previous.at) < ProviderTokenPolicy.refreshMilliseconds {
            restore(previous, revision: next())
        }
        previous = nil
        policy.handleTooMany(at: now)
        let isNews =
            tooManyReportedAt.map {
                now.milliseconds(since: $0) >= ProviderTokenPolicy.minimumAgeMilliseconds
            } ?? true
        if isNews { tooManyReportedAt = now }
        return isNews
    }

    /// Uses another key under the same name. Its first token is made at once.
    mutating func replaceKey(with file: ProviderKeyFile, keyRevision: Int) {
        self.file = file
        self.keyRevision = keyRevision
        policy = ProviderTokenPolicy()
        current = nil
        previous = nil
    }

    func ageSeconds(at now: Instant) -> Double { current.map { now.seconds(since: $0.at) } ?? 0 }
}
