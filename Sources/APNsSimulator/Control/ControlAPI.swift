internal import HTTPServer
internal import Telemetry

/// The control API: what goes wrong, what was asked, and what phones make of it. It has no users and no
/// TLS, and belongs on an address that only its operator reaches.
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
