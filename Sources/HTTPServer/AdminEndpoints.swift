package import Telemetry

/// What an operator and an orchestrator ask of every process: `/metrics`, `/livez`, `/readyz`.
///
/// `/livez` says only that the process turns; it must not depend on anything outside, or an outage
/// there would restart the fleet. `/readyz` says whether work should come here, and if not, why.
package struct AdminEndpoints: Sendable {
    private let metrics: Metrics
    private let obstacles: @Sendable () -> [String]

    /// - Parameter obstacles: why the process cannot serve now, one sentence each; empty when it can.
    ///   Called on the server's thread: it must be quick and must not block.
    package init(metrics: Metrics, obstacles: @escaping @Sendable () -> [String]) {
        self.metrics = metrics
        self.obstacles = obstacles
    }

    package func add(to routes: inout HTTPRoutes) {
        addHealth(to: &routes)
        routes.on(.get, "/metrics") { [metrics] _ in
            HTTPResponse(
                headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
                body: Array(metrics.render().utf8))
        }
    }

    /// Without the metrics, for a listener that strangers reach.
    package func addHealth(to routes: inout HTTPRoutes) {
        routes.on(.get, "/livez") { _ in .text("alive\n") }
        routes.on(.get, "/readyz") { [obstacles] _ in
            let obstacles = obstacles()
            if obstacles.isEmpty { return .text("ready\n") }
            return .text("not ready\n" + obstacles.map { "\($0)\n" }.joined(), status: 503)
        }
    }
}
