internal import HTTPServer
internal import JSON

/// `POST /v1/reset`: between two tests, as if the simulator had been started anew.
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
