internal import APNs
internal import Cryptography
internal import HTTPServer
internal import Lifecycle
internal import Telemetry

/// `GET /v1/provider-token`: a provider token that the simulator accepts, for a person with `curl`. The same
/// token is returned until it must be renewed, because APNs allows few renewals. `keyId` chooses another key.
/// `ageSeconds` returns a new token of that age each time, to provoke a refusal.
struct ProviderTokenRoute {
    /// A key with which tokens are signed.
    struct Signer: Sendable {
        let teamID: String
        let keyID: String
        let key: SigningKey

        func token(at time: WallTime) -> String {
            ProviderToken.make(teamID: teamID, keyID: keyID, key: key, at: time)
        }
    }

    /// The token in use of one key.
    fileprivate struct CachedToken {
        var policy = ProviderTokenPolicy()
        var text = ""
    }

    /// Limit on `ageSeconds`: one day. A token expires after one hour.
    private static let ageSecondsMax = 86_400

    /// The keys. The first one is the default.
    let signers: [Signer]

    func add(to routes: inout HTTPRoutes) {
        let cachedTokens = TracedLock([String: CachedToken]())
        routes.control(.get, path: "/v1/provider-token") { [signers] request in
            try request.refuseUnknownQuery(known: "keyId", "ageSeconds")
            let keyID = request.query(named: "keyId")
            guard let signer = signers.first(where: { keyID == nil || $0.keyID == keyID }) else {
                throw ControlRefusal(
                    status: 404, code: "no_key",
                    message: "unknown keyId; known keys are \(signers.map(\.keyID).joined(separator: ", "))"
                )
            }
            // A token of a given age is not cached.
            if request.query(named: "ageSeconds") != nil {
                let age = try request.queryNumber("ageSeconds", in: 0...Self.ageSecondsMax, default: 0)
                let time = WallTime(milliseconds: WallTime.now().milliseconds - Int64(age) * 1_000)
                return .text(signer.token(at: time) + "\n")
            }
            let token = cachedTokens.withLock {
                $0[signer.keyID, default: CachedToken()].token(of: signer)
            }
            return .text(token + "\n")
        }
    }
}

extension ProviderTokenRoute.CachedToken {
    /// Returns the token, and renews it first if the policy demands it.
    fileprivate mutating func token(of signer: ProviderTokenRoute.Signer) -> String {
        let (now, wall) = (Instant.now(), WallTime.now())
        guard policy.decide(at: now, wall: wall) == .make else { return text }
        text = signer.token(at: wall)
        policy.recordToken(at: now, wall: wall)
        return text
    }
}

extension ProviderTokenRoute.Signer {
    init(_ credentials: SimulatorCredentials) {
        self.init(
            teamID: SimulatorCredentials.teamID, keyID: credentials.keyID, key: credentials.signingKey)
    }
}
