internal import APNs
internal import HTTPServer
internal import Lifecycle
internal import Telemetry

/// `GET /v1/provider-token`: a JSON Web Token that the simulator accepts, for a person with `curl`. It is
/// made anew as seldom as Apple wants it.
struct ProviderTokenRoute {
    private struct Made {
        var policy = ProviderTokenPolicy()
        var text = ""
    }

    let credentials: SimulatorCredentials

    func add(to routes: inout HTTPRoutes) {
        let made = TracedLock(Made())
        routes.on(.get, "/v1/provider-token") { [credentials] _ in
            .text(
                made.withLock { made in
                    let now = Instant.now()
                    guard made.policy.decide(at: now) == .make else { return made.text }
                    made.text = ProviderToken.make(
                        teamID: SimulatorCredentials.teamID, keyID: credentials.keyID,
                        key: credentials.signingKey, at: .now())
                    made.policy.made(at: now)
                    return made.text
                } + "\n")
        }
    }
}
