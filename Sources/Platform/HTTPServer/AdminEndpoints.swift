package import Telemetry

/// The endpoints that every process serves to operators and orchestrators: `/metrics`, `/livez` and
/// `/readyz`.
///
/// `/livez` shows only that the process runs. It must not depend on anything outside the process, because an
/// outage there would restart all processes. `/readyz` shows whether the process accepts work, and the
/// reasons if it does not.
package struct AdminEndpoints: Sendable {
    private let metrics: Metrics
    private let readinessProblems: @Sendable () -> [String]

    /// - Parameter readinessProblems: Returns the reasons why the process cannot serve now, one sentence each. It
    ///   runs on the server's thread, so it must not block.
    package init(metrics: Metrics, readinessProblems: @escaping @Sendable () -> [String]) {
        self.metrics = metrics
        self.readinessProblems = readinessProblems
    }

    /// Adds all three endpoints.
    package func add(to routes: inout HTTPRoutes) {
        addHealth(to: &routes)
        routes.on(.get, path: "/metrics") { [metrics] _ in
            HTTPResponse(
                headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
                body: Array(metrics.render().utf8))
        }
    }

    /// Adds the endpoints without the metrics, for a listener that strangers can reach.
    package func addHealth(to routes: inout HTTPRoutes) {
        routes.on(.get, path: "/livez") { _ in .text("alive\n") }
        routes.on(.get, path: "/readyz") { [readinessProblems] _ in
            let problems = readinessProblems()
            if problems.isEmpty { return .text("ready\n") }
            return .text("not ready\n" + problems.map { "\($0)\n" }.joined(), status: 503)
        }
    }
}
