internal import HTTPServer
internal import JSON

/// `/v1/clock`: reads and advances the clock of the simulated APNs and its phones.
struct ClockRoute {
    /// Limit for one request: 365 days.
    private static let advanceSecondsMax = 31_536_000
    private static let dayMilliseconds: Int64 = 86_400_000

    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        let controller = controller
        routes.control(.get, path: "/v1/clock") { _ in Self.response(for: controller.simulator.clock) }
        routes.control(.post, path: "/v1/clock") { request in
            let seconds = try request.readJSON { value in
                let object = value.object()
                let seconds = object["advanceSeconds"].int(in: 1...Self.advanceSecondsMax)
                object.reportUnknownFields()
                return seconds
            }
            try await controller.perform { controller throws(ControlRefusal) in
                if controller.simulator.advanceClock(milliseconds: Int64(seconds) * 1_000) { return }
                let days = SimulatorClock.offsetMillisecondsMax / Self.dayMilliseconds
                throw ControlRefusal(
                    status: 409, code: "too_far_ahead",
                    message: "the clock can be advanced by \(days) days in total; restart the simulator")
            }
            return Self.response(for: controller.simulator.clock)
        }
    }

    private static func response(for clock: SimulatorClock) -> HTTPResponse {
        .object { json in
            json.field("now", clock.now)
            json.field("aheadSeconds", Int(clock.offsetMilliseconds / 1_000))
        }
    }
}
