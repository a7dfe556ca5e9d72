internal import HTTPServer
internal import Telemetry

/// The control API: faults, received requests, and the state of the phones. It has no authentication and no
/// TLS, so it must listen on an address that only its operator can reach.
struct ControlAPI {
    let routes: HTTPRoutes

    init(_ desk: ControlDesk, signers: [ProviderTokenRoute.Signer], metrics: Metrics) {
        var routes = HTTPRoutes()
        ScriptRoutes(desk: desk).add(to: &routes)
        ConnectionRoutes(desk: desk).add(to: &routes)
        TokenRoutes(desk: desk).add(to: &routes)
        PhoneRoutes(desk: desk).add(to: &routes)
        WaitRoute(desk: desk, metrics: metrics).add(to: &routes)
        ResetRoute(desk: desk).add(to: &routes)
        ClockRoute(desk: desk).add(to: &routes)
        JournalRoutes(desk: desk).add(to: &routes)
        ProviderTokenRoute(signers: signers).add(to: &routes)
        AdminEndpoints(metrics: metrics) { [] }.add(to: &routes)
        self.routes = routes
    }
}
