internal import Cryptography
internal import Lifecycle
internal import Telemetry

/// One signing key with its current and its previous provider token. The previous token is used again in two cases:
/// APNs reports that tokens are made too often, or a clock was set to a wrong time and then corrected.
struct ProviderSigner {
    private struct SignedToken {
        /// `bearer ` and the token.
        let text: String
        let madeAt: Instant
        /// The policy when the token was made, or when another token replaced it.
        var policy: ProviderTokenPolicy
    }

    let name: ProviderKeyName
    var file: ProviderKeyFile
    /// The rules for the current token.
    private var policy = ProviderTokenPolicy()
    private var current: SignedToken?
    private var previous: SignedToken?
    /// Index of the clock in `ProviderClocks` that gives `iat`, the time in the token.
    private var clockIndex = 0
    /// Time of the last TooManyProviderTokenUpdates that was not a repetition.
    private var tooManyReportedAt: Instant?

    // The numbers of the current `BearerToken`. All keys of a process share one sequence of revisions, so no
    // token or key is mistaken for another.

    private(set) var keyRevision: Int
    private(set) var revision = 0
    /// Incremented with each token that was made early. Apple's limit of 20 minutes applies to each
    /// connection.
    private(set) var earlyTokenCount = 0
    /// Number of tokens that were made.
    private(set) var signedCount = 0

    init(name: ProviderKeyName, file: ProviderKeyFile, keyRevision: Int) {
        self.name = name
        self.file = file
        self.keyRevision = keyRevision
    }

    /// Returns the current token, and first makes a new one if it is time. Signing takes a few microseconds,
    /// about every 50 minutes.
    mutating func bearer(at now: Instant, by clocks: ProviderClocks, nextRevision: () -> Int)
        -> BearerToken
    {
        let wall = clocks.times[clockIndex]
        let isCurrentMisdated = current != nil && policy.isClockStepped(at: now, wall: wall)
        if isCurrentMisdated, let previous, previous.policy.isReusable(at: now, wall: wall) {
            restore(previous, revision: nextRevision())
        } else if current == nil || policy.decide(at: now, wall: wall) == .make {
            signToken(at: now, wall: wall, revision: nextRevision())
        }
        return BearerToken(
            text: current?.text ?? "", revision: revision, keyRevision: keyRevision,
            earlyTokenCount: earlyTokenCount)
    }

    /// Makes a new token.
    private mutating func signToken(at now: Instant, wall: WallTime, revision: Int) {
        let token = ProviderToken.make(teamID: name.teamID, keyID: name.keyID, key: file.key, at: wall)
        if let current, now.milliseconds(since: current.madeAt) < ProviderTokenPolicy.minimumAgeMilliseconds {
            earlyTokenCount += 1
        }
        keepCurrentAsPrevious()
        policy.recordToken(at: now, wall: wall)
        current = SignedToken(text: "bearer \(token)", madeAt: now, policy: policy)
        self.revision = revision
        signedCount += 1
    }

    /// Uses the former token again. For a connection it is an early change of the token.
    private mutating func restore(_ formerToken: SignedToken, revision: Int) {
        keepCurrentAsPrevious()
        current = formerToken
        policy.restore(from: formerToken.policy)
        self.revision = revision
        earlyTokenCount += 1
    }

    private mutating func keepCurrentAsPrevious() {
        previous = current
        previous?.policy = policy
    }

    /// Handles ExpiredProviderToken for the token of this revision. Returns true if a newer token exists, or if the
    /// next call of `bearer` makes one.
    mutating func handleExpired(revision: Int, at now: Instant, by clocks: ProviderClocks) -> Bool {
        if revision < self.revision { return true }
        let otherClockIndex = disagreeingClock(in: clocks, at: now)
        guard policy.handleExpired(at: now, isMisdated: otherClockIndex != nil) else { return false }
        clockIndex = otherClockIndex ?? clockIndex
        return true
    }

    /// Returns the index of a clock that disagrees with the token's `iat`. The clock in use comes first,
    /// because it may have been set since.
    private func disagreeingClock(in clocks: ProviderClocks, at now: Instant) -> Int? {
        ([clockIndex] + clocks.times.indices).first {
            policy.isClockStepped(at: now, wall: clocks.times[$0])
        }
    }

    /// Handles TooManyProviderTokenUpdates for the token of this revision. Returns to the previous token and
    /// pauses. Many pushes get this answer at once: the result is true only for the first of them.
    mutating func handleTooMany(revision: Int, at now: Instant, nextRevision: () -> Int) -> Bool {
        guard revision == self.revision else { return false }
        if let previous, now.milliseconds(since: previous.madeAt) < ProviderTokenPolicy.refreshMilliseconds {
            restore(previous, revision: nextRevision())
        }
        // A second such answer must not return to a token that was left.
        previous = nil
        policy.handleTooMany(at: now)
        let isFirstReport =
            tooManyReportedAt.map {
                now.milliseconds(since: $0) >= ProviderTokenPolicy.minimumAgeMilliseconds
            } ?? true
        if isFirstReport { tooManyReportedAt = now }
        return isFirstReport
    }

    /// Uses another key under the same name. Its first token is made at once.
    mutating func replaceKey(with file: ProviderKeyFile, keyRevision: Int) {
        self.file = file
        self.keyRevision = keyRevision
        policy = ProviderTokenPolicy()
        current = nil
        previous = nil
    }

    /// Returns the age of the current token, or 0 without a token.
    func ageSeconds(at now: Instant) -> Double { current.map { now.seconds(since: $0.madeAt) } ?? 0 }
}
