internal import HTTPServer
internal import JSON
internal import Lifecycle
internal import Synchronization
internal import Telemetry

/// `POST /v1/wait`: answers when phones show the expected content, or after a timeout. It reads the screens
/// again and again, because the phones have no notification of a change.
struct WaitRoute {
    /// Callers that can wait at once. At the limit a new caller gets 429.
    static let waitersMax = 100
    /// Limit on the timeout of a request.
    static let millisecondsMax = 600_000
    /// Minimum pause between two checks.
    private static let pauseMillisecondsMin = 10
    /// The pause is this many times as long as the last check. So checks take at most a twentieth of the
    /// loop's time.
    private static let pausePerCheckTime = 20

    let controller: SimulatorController
    private let waiters = Waiters()

    init(controller: SimulatorController, metrics: Metrics) {
        self.controller = controller
        metrics.gauge(
            "flotilla_apns_simulator_waiting", help: "Callers that wait for phones to show content."
        ) { [waiters] in Double(waiters.count.load(ordering: .relaxed)) }
    }

    /// The number of waiting callers.
    private final class Waiters: Sendable {
        let count = Atomic<Int>(0)
    }

    func add(to routes: inout HTTPRoutes) {
        routes.control(.post, path: "/v1/wait") { request in
            let waitRequest = try request.readJSON { WaitRequest(from: $0) }
            guard waiters.count.add(1, ordering: .relaxed).newValue <= Self.waitersMax else {
                waiters.count.subtract(1, ordering: .relaxed)
                throw ControlRefusal(
                    status: 429, code: "too_many_wait", message: "\(Self.waitersMax) callers wait already")
            }
            defer { waiters.count.subtract(1, ordering: .relaxed) }
            return try await wait(for: waitRequest)
        }
    }

    /// Returns the answer when the condition is met. Throws a refusal after the timeout.
    private func wait(for request: WaitRequest) async throws -> HTTPResponse {
        let startedAt = Instant.now()
        while true {
            let (count, checkMilliseconds) = try await controller.perform {
                controller throws(ControlRefusal) in
                let checkStartedAt = Instant.now()
                let count = try Self.count(for: request, in: controller)
                return (count, Instant.now().milliseconds(since: checkStartedAt))
            }
            let waitedMilliseconds = Instant.now().milliseconds(since: startedAt)
            if request.isMet(by: count) {
                return .object { json in
                    json.field("showing", count.showing)
                    json.field("of", count.total)
                    json.field("waitedMilliseconds", waitedMilliseconds)
                }
            }
            guard waitedMilliseconds < request.milliseconds else {
                throw ControlRefusal(
                    status: 408, code: "not_met",
                    message:
                        "after \(waitedMilliseconds) ms \(count.showing) of \(count.total) phones show it")
            }
            if controller.isStopping { throw ControlRefusal.stopping }
            let pauseMilliseconds = max(
                Self.pauseMillisecondsMin, checkMilliseconds * Self.pausePerCheckTime)
            let remainingMilliseconds = request.milliseconds - waitedMilliseconds
            try await Task.sleep(for: .milliseconds(min(pauseMilliseconds, remainingMilliseconds)))
        }
    }

    /// Returns the number of phones that meet the condition. Runs on the loop.
    private static func count(
        for request: WaitRequest, in controller: SimulatorController
    ) throws(ControlRefusal) -> ScreenCount {
        let time = controller.simulator.clock.now
        switch request.subject {
        case .group(let group, _, _):
            return controller.phones?.count(meeting: request.condition, inGroup: group, at: time)
                ?? ScreenCount(showing: 0, total: 0)
        case .phone(let name, let group):
            let (phones, number) = try PhoneRoutes.phone(named: name, in: controller)
            return phones.count(meeting: request.condition, onPhone: number, group: group, at: time)
        }
    }
}
