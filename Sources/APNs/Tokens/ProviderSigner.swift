internal import Cryptography
internal import Lifecycle
internal import Telemetry

/// One key and the tokens made with it: the present one, and the one before, which Apple wants back
/// when it finds that tokens are made too often, and which is right again when a clock was stepped and is back.
struct ProviderSigner {
    private struct Made {
        let text: String
        let at: Instant
        /// As it was when the token was made, or when another took its place.
        var policy: ProviderTokenPolicy
    }

    let name: ProviderKeyName
    var file: ProviderKeyFile
    /// Tokens and keys are numbered through the whole process, so that none is taken for another's.
    private(set) var keyRevision: Int
    /// Another one with each token that came before its time: Apple's twenty minutes are of each connection.
    private(set) var turn = 0
    private(set) var revision = 0
    /// Which of the clocks fills in `iat`.
    private var clock = 0
    private var policy = ProviderTokenPolicy()
    private var present: Made?
    private var former: Made?
    private(set) var madeCount = 0

    init(_ name: ProviderKeyName, _ file: ProviderKeyFile, keyRevision: Int) {
        self.name = name
        self.file = file
        self.keyRevision = keyRevision
    }

    /// The token for now, made if it is time. Signing takes some microseconds, and once in fifty minutes.
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

    /// ExpiredProviderToken for the token of this revision. True when there is, or will be, a newer one.
    mutating func expired(_ revision: Int, at now: Instant, by clocks: ProviderClocks) -> Bool {
        if revision < self.revision { return true }
        let better = misdating(clocks, at: now)
        guard policy.expired(at: now, isMisdated: better != nil) else { return false }
        clock = better ?? clock
        return true
    }

    /// The clock that says otherwise than the token, the one in use before others.
    private func misdating(_ clocks: ProviderClocks, at now: Instant) -> Int? {
        ([clock] + clocks.times.indices).first { policy.isStepped(at: now, wall: clocks.times[$0]) }
    }

    /// TooManyProviderTokenUpdates for the token of this revision: back to the one before, and rest.
    mutating func tooMany(_ revision: Int, at now: Instant, revision next: () -> Int) {
        guard revision == self.revision else { return }
        if let former, now.milliseconds(since: former.at) < ProviderTokenPolicy.refreshMilliseconds {
            comeBack(to: former, revision: next())
        }
        former = nil
        policy.tooMany(at: now)
    }

    /// Another key under the same name: its first token is made at once.
    mutating func replaceKey(_ file: ProviderKeyFile, keyRevision: Int) {
        self.file = file
        self.keyRevision = keyRevision
        policy = ProviderTokenPolicy()
        present = nil
        former = nil
    }

    func ageSeconds(at now: Instant) -> Double { present.map { now.seconds(since: $0.at) } ?? 0 }
}
