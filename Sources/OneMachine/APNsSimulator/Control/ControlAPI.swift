internal import HTTPServer
internal import Telemetry

/// The control API: faults, received requests, and the state of the phones. It has no authentication and no
/// TLS, so it must listen on an address that only its operator can reach.
struct ControlAPI {
    let routes: HTTPRoutes

    init(controller desk: SimulatorController, signers: [ProviderTokenRoute.Signer], metrics: Metrics) {
        var routes = HTTPRoutes()
        ScriptRoutes(controller: desk).add(to: &routes)
        ConnectionRoutes(controller: desk).add(to: &routes)
        TokenRoutes(controller: desk).add(to: &routes)
        PhoneRoutes(controller: desk).add(to: &routes)
        WaitRoute(desk: desk, metrics: metrics).add(to: &routes)
        ResetRoute(controller: desk).add(to: &routes)
        ClockRoute(controller: desk).add(to: &routes)
        JournalRoutes(controller: desk).add(to: &routes)
        ProviderTokenRoute(signers: signers).add(to: &routes)
        AdminEndpoints(metrics: metrics) { [] }.add(to: &routes)
        self.routes = routes
    }
}
