internal import HTTPServer
internal import JSON

/// `POST /v1/goaway`, `/v1/settings`, `/v1/stall` and `/v1/close`: inject a fault once and immediately, into
/// every connection or into the one that `connection` names. Each answers with the number of affected
/// connections.
struct ConnectionRoutes {
    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        add(path: "/v1/goaway", to: &routes) { InjectedFault.ConnectionFault(goawayFields: $0) }
        add(path: "/v1/settings", to: &routes) { InjectedFault.ConnectionFault(settingsFields: $0) }
        add(path: "/v1/stall", to: &routes) { .stall(milliseconds: $0["milliseconds"].milliseconds()) }
        add(path: "/v1/close", to: &routes) { _ in .close }
    }

    /// Adds a route with one fault.
    /// - Parameter decode: reads the fault from the fields of the request's body.
    private func add(
        path: String, to routes: inout HTTPRoutes,
        decode: @escaping @Sendable (JSONObject) -> InjectedFault.ConnectionFault
    ) {
        routes.control(.post, path: path) { [controller] request in
            let (fault, connection) = try request.readJSON { value in
                let object = value.object()
                let fields = (decode(object), object["connection"].optional?.positiveCount())
                object.reportUnknownFields()
                return fields
            }
            let affectedCount = try await controller.perform {
                $0.simulator.inject(fault, onConnection: connection)
            }
            if let connection, affectedCount == 0 {
                throw ControlRefusal(
                    status: 404, code: "no_connection",
                    message: "connection \(connection) does not exist now")
            }
            return .object { $0.field("connections", affectedCount) }
        }
    }
}
