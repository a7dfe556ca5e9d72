internal import HTTPServer
internal import JSON

/// Faults that are injected once and immediately, into every connection or into one: `/v1/goaway`,
/// `/v1/settings`, `/v1/stall`, `/v1/close`. Each answers with the number of affected connections.
struct ConnectionRoutes {
    let desk: ControlDesk

    func add(to routes: inout HTTPRoutes) {
        add("/v1/goaway", to: &routes) { Ruling.ConnectionFault(goawayFields: $0) }
        add("/v1/settings", to: &routes) { Ruling.ConnectionFault(settingsFields: $0) }
        add("/v1/stall", to: &routes) { .stall(milliseconds: $0["milliseconds"].milliseconds()) }
        add("/v1/close", to: &routes) { _ in .close }
    }

    private func add(
        _ pattern: String, to routes: inout HTTPRoutes,
        _ decode: @escaping @Sendable (JSONObject) -> Ruling.ConnectionFault
    ) {
        routes.control(.post, pattern) { [desk] request in
            let (fault, number) = try request.read { value in
                let object = value.object()
                let read = (decode(object), object["connection"].optional?.count())
                object.refuseUnknownFields()
                return read
            }
            let met = try await desk.ask { $0.simulator.inflict(fault, on: number) }
            if let number, met == 0 {
                throw ControlRefusal(404, "no_connection", message: "connection \(number) does not exist now")
            }
            return .object { $0.field("connections", met) }
        }
    }
}
