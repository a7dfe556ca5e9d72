internal import HTTPServer
internal import JSON

/// `/v1/clock`: reads and advances the clock of the simulated APNs and its phones.
struct ClockRoute {
    /// One year, the most for one request.
    private static let advanceSecondsMax = 31_536_000

    let desk: ControlDesk

    func add(to routes: inout HTTPRoutes) {
        let desk = desk
        routes.control(.get, "/v1/clock") { _ in Self.shown(desk.simulator.clock) }
        routes.control(.post, "/v1/clock") { request in
            let seconds = try request.read { value in
                let object = value.object()
                let seconds = object["advanceSeconds"].int(in: 1...Self.advanceSecondsMax)
                object.refuseUnknownFields()
                return seconds
            }
            try await desk.ask { desk throws(ControlRefusal) in
                if desk.simulator.putForward(milliseconds: Int64(seconds) * 1_000) { return }
                let days = SimulatorClock.aheadMillisecondsMax / 86_400_000
                throw ControlRefusal(
                    409, "too_far_ahead",
                    message:
                        "the clock can be advanced by \(days) days in total; restart the simulator")
            }
            return Self.shown(desk.simulator.clock)
        }
    }

    private static func shown(_ clock: SimulatorClock) -> HTTPResponse {
        .object { json in
            json.field("now", clock.now)
            json.field("aheadSeconds", Int(clock.ahead / 1_000))
        }
    }
}
