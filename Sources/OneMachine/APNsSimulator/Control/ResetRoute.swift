internal import HTTPServer
internal import JSON

/// `POST /v1/reset`: restores the initial state between two tests.
struct ResetRoute {
    let desk: ControlDesk

    func add(to routes: inout HTTPRoutes) {
        routes.control(.post, "/v1/reset") { [desk] request in
            try request.read { $0.object().refuseUnknownFields() }
            try await desk.ask { $0.reset() }
            return .object { $0.field("now", desk.simulator.clock.now) }
        }
    }
}
