internal import Cryptography
internal import Lifecycle
internal import Telemetry

/// One key and the tokens made with it: the present one, and the one before, which Apple wants back
/// when it finds that tokens are made too often.
struct ProviderSigner {
    private struct Made {
        let text: String
        let at: Instant
        let policy: ProviderTokenPolicy
    }

    let name: ProviderKeyName
    var file: ProviderKeyFile
    /// Tokens and keys are numbered through the whole process, so that none is taken for another's.
    private(set) var keyRevision: Int
    private(set) var revision = 0
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
    mutating func bearer(at now: Instant, wall: (Instant) -> WallTime, revision next: () -> Int)
        -> ProviderBearer
    {
        let wall = wall(now)
        if present == nil || policy.decide(at: now, wall: wall) == .make {
            let token = ProviderToken.make(teamID: name.teamID, keyID: name.keyID, key: file.key, at: wall)
            former = present
            policy.made(at: now, wall: wall)
            present = Made(text: "bearer \(token)", at: now, policy: policy)
            revision = next()
            madeCount += 1
        }
        return ProviderBearer(text: present?.text ?? "", revision: revision, keyRevision: keyRevision)
    }

    /// ExpiredProviderToken for the token of this revision. True when there is, or will be, a newer one.
    mutating func expired(_ revision: Int, at now: Instant) -> Bool {
        revision < self.revision || policy.expired(at: now)
    }

    /// TooManyProviderTokenUpdates for the token of this revision: back to the one before, and rest.
    mutating func tooMany(_ revision: Int, at now: Instant, revision next: () -> Int) {
        guard revision == self.revision else { return }
        if let former, now.milliseconds(since: former.at) < ProviderTokenPolicy.refreshMilliseconds {
            present = former
            policy.returned(to: former.policy)
            self.revision = next()
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
