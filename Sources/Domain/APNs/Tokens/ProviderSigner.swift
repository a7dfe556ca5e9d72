internal import Cryptography
internal import Lifecycle
internal import Telemetry

/// One key with its current and its previous token. Apple expects the previous one again when tokens are made
/// too often. It is also valid again when a clock was stepped and then corrected.
struct ProviderSigner {
    private struct Made {
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
    private(set) var turn = 0
    private(set) var revision = 0
    /// Index of the clock that dates `iat`.
    private var clock = 0
    private var policy = ProviderTokenPolicy()
    private var present: Made?
    private var former: Made?
    private var toldTooManyAt: Instant?
    private(set) var madeCount = 0

    init(_ name: ProviderKeyName, _ file: ProviderKeyFile, keyRevision: Int) {
        self.name = name
        self.file = file
        self.keyRevision = keyRevision
    }

    /// Returns the current token and makes a new one if it is time. Signing takes a few microseconds, about
    /// every 50 minutes.
    mutating func bearer(at now: Instant, by clocks: ProviderClocks, revision next: () -> Int)
        -> ProviderBearer
    {
        let wall = clocks.times[clock]
        if present != nil, policy.isStepped(at: now, wall: wall),
            let former, former.policy.isGood(at: now, wall: wall)
        {
            comeBack(to: former, revision: next())
        } else if present == nil || policy.decide(at: now, wall: wall) == .make {
            make(at: now, wall: wall, revision: next())
        }
        return ProviderBearer(
            text: present?.text ?? "", revision: revision, keyRevision: keyRevision, turn: turn)
    }

    private mutating func make(at now: Instant, wall: WallTime, revision: Int) {
        let token = ProviderToken.make(teamID: name.teamID, keyID: name.keyID, key: file.key, at: wall)
        if let present, now.milliseconds(since: present.at) < ProviderTokenPolicy.leastMilliseconds {
            turn += 1
        }
        putAway()
        policy.made(at: now, wall: wall)
        present = Made(text: "bearer \(token)", at: now, policy: policy)
        self.revision = revision
        madeCount += 1
    }

    private mutating func comeBack(to former: Made, revision: Int) {
        putAway()
        present = former
        policy.returned(to: former.policy)
        self.revision = revision
        turn += 1
    }

    private mutating func putAway() {
        former = present
        former?.policy = policy
    }

    /// Handles ExpiredProviderToken for the token of this revision. Returns true if there is, or will be, a
    /// newer token.
    mutating func expired(_ revision: Int, at now: Instant, by clocks: ProviderClocks) -> Bool {
        if revision < self.revision { return true }
        let better = misdating(clocks, at: now)
        guard policy.expired(at: now, isMisdated: better != nil) else { return false }
        clock = better ?? clock
        return true
    }

    /// Returns the clock that disagrees with the token. The clock in use comes first.
    private func misdating(_ clocks: ProviderClocks, at now: Instant) -> Int? {
        ([clock] + clocks.times.indices).first { policy.isStepped(at: now, wall: clocks.times[$0]) }
    }

    /// Handles TooManyProviderTokenUpdates for the token of this revision. Returns to the previous token and
    /// pauses. The result is true for the first of the answers that many pushes get.
    mutating func tooMany(_ revision: Int, at now: Instant, revision next: () -> Int) -> Bool {
        guard revision == self.revision else { return false }
        if let former, now.milliseconds(since: former.at) < ProviderTokenPolicy.refreshMilliseconds {
            comeBack(to: former, revision: next())
        }
        former = nil
        policy.tooMany(at: now)
        let isNews =
            toldTooManyAt.map { now.milliseconds(since: $0) >= ProviderTokenPolicy.leastMilliseconds } ?? true
        if isNews { toldTooManyAt = now }
        return isNews
    }

    /// Uses another key under the same name. Its first token is made at once.
    mutating func replaceKey(_ file: ProviderKeyFile, keyRevision: Int) {
        self.file = file
        self.keyRevision = keyRevision
        policy = ProviderTokenPolicy()
        present = nil
        former = nil
    }

    func ageSeconds(at now: Instant) -> Double { present.map { now.seconds(since: $0.at) } ?? 0 }
}
