internal import HTTPServer
internal import Telemetry

/// The routes of the control API, with which a test or an operator sets faults, reads the received requests,
/// and reads and changes the phones. It has no authentication and no TLS, so it must listen on an address
/// that only its operator can reach.
struct ControlAPI {
    let routes: HTTPRoutes

    init(controller: SimulatorController, signers: [ProviderTokenRoute.Signer], metrics: Metrics) {
        var routes = HTTPRoutes()
        ScriptRoutes(controller: controller).add(to: &routes)
        ConnectionRoutes(controller: controller).add(to: &routes)
        TokenRoutes(controller: controller).add(to: &routes)
        PhoneRoutes(controller: controller).add(to: &routes)
        WaitRoute(controller: controller, metrics: metrics).add(to: &routes)
        ResetRoute(controller: controller).add(to: &routes)
        ClockRoute(controller: controller).add(to: &routes)
        JournalRoutes(controller: controller).add(to: &routes)
        ProviderTokenRoute(signers: signers).add(to: &routes)
        // The simulator is always ready, so it has no readiness problems.
        AdminEndpoints(metrics: metrics) { [] }.add(to: &routes)
        self.routes = routes
    }
}
