internal import HTTPServer
internal import JSON

/// `POST /v1/reset`: restores the initial state between two tests.
struct ResetRoute {
    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        routes.control(.post, path: "/v1/reset") { [controller] request in
            // The body has no fields.
            try request.readJSON { $0.object().reportUnknownFields() }
            try await controller.perform { $0.reset() }
            return .object { $0.field("now", controller.simulator.clock.now) }
        }
    }
}
