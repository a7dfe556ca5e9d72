internal import APNs
internal import Cryptography
internal import HTTPServer
internal import Lifecycle
internal import Telemetry

/// `GET /v1/provider-token`: a JSON Web Token that the simulator accepts, for a person with `curl`. It is
/// renewed only as often as Apple allows. `keyId` chooses another key. `ageSeconds` makes a new token of that
/// age each time, which helps to provoke refusals.
struct ProviderTokenRoute {
    struct Signer: Sendable {
        let teamID: String
        let keyID: String
        let key: SigningKey

        func token(at time: WallTime) -> String {
            ProviderToken.make(teamID: teamID, keyID: keyID, key: key, at: time)
        }
    }

    fileprivate struct CachedToken {
        var policy = ProviderTokenPolicy()
        var text = ""
    }

    private static let ageSecondsMax = 86_400

    let signers: [Signer]

    func add(to routes: inout HTTPRoutes) {
        let made = TracedLock([String: CachedToken]())
        routes.control(.get, path: "/v1/provider-token") { [signers] request in
            try request.refuseUnknownQuery(known: "keyId", "ageSeconds")
            let keyID = request.query(named: "keyId")
            guard let signer = signers.first(where: { keyID == nil || $0.keyID == keyID }) else {
                throw ControlRefusal(
                    status: 404, code: "no_key",
                    message: "unknown keyId; known keys are \(signers.map(\.keyID).joined(separator: ", "))"
                )
            }
            if request.query(named: "ageSeconds") != nil {
                let age = try request.queryNumber("ageSeconds", in: 0...Self.ageSecondsMax, default: 0)
                let time = WallTime(milliseconds: WallTime.now().milliseconds - Int64(age) * 1_000)
                return .text(signer.token(at: time) + "\n")
            }
            return .text(made.withLock { $0[signer.keyID, default: CachedToken()].token(of: signer) } + "\n")
        }
    }
}

extension ProviderTokenRoute.CachedToken {
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
