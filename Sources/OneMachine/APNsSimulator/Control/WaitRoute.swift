internal import HTTPServer
internal import JSON
internal import Lifecycle
internal import LiveActivity
internal import Synchronization
internal import Telemetry

/// `POST /v1/wait`: answers when phones show the expected content, or after a timeout.
struct WaitRoute {
    /// Callers that can wait at once. At the limit a new caller gets 429.
    static let waitersMax = 100
    static let millisecondsMax = 600_000
    private static let millisecondsDefault = 10_000
    /// Minimum pause between two checks. Checks take at most a twentieth of the loop's time.
    private static let pauseMilliseconds = 10
    private static let pauseShare = 20

    let controller: SimulatorController
    private let waiters = Waiters()

    init(desk: SimulatorController, metrics: Metrics) {
        self.controller = desk
        metrics.gauge(
            "flotilla_apns_simulator_waiting", help: "Callers that wait for phones to show content."
        ) { [waiters] in Double(waiters.count.load(ordering: .relaxed)) }
    }

    private final class Waiters: Sendable {
        let count = Atomic<Int>(0)
    }

    /// The screens to check.
    fileprivate enum Subject {
        case phone(String, group: String?)
        case group(String, share: Double, phones: Int)
    }

    fileprivate struct WaitRequest: Sendable {
        var subject: Subject
        var condition: ScreenCondition
        /// Whether the content must be shown. If false, the wait ends when no phone shows it any more.
        var isShown: Bool
        var milliseconds: Int
    }

    func add(to routes: inout HTTPRoutes) {
        routes.control(.post, path: "/v1/wait") { request in
            let wish = try request.readJSON(decode: Self.waitRequest)
            guard waiters.count.add(1, ordering: .relaxed).newValue <= Self.waitersMax else {
                waiters.count.subtract(1, ordering: .relaxed)
                throw ControlRefusal(
                    status: 429, code: "too_many_wait", message: "\(Self.waitersMax) callers wait already")
            }
            defer { waiters.count.subtract(1, ordering: .relaxed) }
            return try await wait(for: wish)
        }
    }

    private func wait(for wish: WaitRequest) async throws -> HTTPResponse {
        let began = Instant.now()
        while true {
            let (count, cost) = try await controller.perform { desk throws(ControlRefusal) in
                let began = Instant.now()
                let count = try Self.count(for: wish, in: desk)
                return (count, Instant.now().milliseconds(since: began))
            }
            let waited = Instant.now().milliseconds(since: began)
            if wish.isMet(by: count) {
                return .object { json in
                    json.field("showing", count.showing)
                    json.field("of", count.total)
                    json.field("waitedMilliseconds", waited)
                }
            }
            guard waited < wish.milliseconds else {
                throw ControlRefusal(
                    status: 408, code: "not_met",
                    message: "after \(waited) ms \(count.showing) of \(count.total) phones show it")
            }
            if controller.isStopping { throw ControlRefusal.stopping }
            let pause = max(Self.pauseMilliseconds, cost * Self.pauseShare)
            try await Task.sleep(for: .milliseconds(min(pause, wish.milliseconds - waited)))
        }
    }

    private static func count(for wish: WaitRequest, in desk: SimulatorController) throws(ControlRefusal)
        -> ScreenCount
    {
        let time = desk.simulator.clock.now
        switch wish.subject {
        case .group(let group, _, _):
            return desk.phones?.count(meeting: wish.condition, inGroup: group, at: time)
                ?? ScreenCount(showing: 0, total: 0)
        case .phone(let name, let group):
            let (phones, number) = try PhoneRoutes.phone(named: name, in: desk)
            return phones.count(meeting: wish.condition, onPhone: number, group: group, at: time)
        }
    }

    private static func waitRequest(from value: JSONValue) -> WaitRequest {
        let object = value.object()
        let phone = object["phone"].optional?.string()
        let group = object["group"].optional?.string()
        let share = object["share"].optional
        let phones = object["phones"].optional
        var pointer = JSONPointer(parsing: "")
        if let given = object["pointer"].optional {
            pointer = JSONPointer(parsing: given.string())
            if pointer == nil { given.report("must be a JSON pointer such as /score/home, or empty") }
        }
        let equals = object["equals"]
        let isShown = object["shows"].optional?.bool() ?? true
        if phone == nil, group == nil { value.report("must name a phone or a group") }
        if phone != nil || !isShown {
            for field in [share, phones] { field?.report("is valid only for a group that must show content") }
        }
        let wantedShare = share?.double() ?? 1
        if !(wantedShare > 0 && wantedShare <= 1) { share?.report("must be above 0 and at most 1") }
        let wish = WaitRequest(
            subject: phone.map { .phone($0, group: group) }
                ?? .group(group ?? "", share: wantedShare, phones: phones?.positiveCount() ?? 1),
            condition: ScreenCondition(
                pointer: pointer ?? .whole, equals: equals.isMissing ? nil : ComparedJSON(from: equals),
                state: object["state"].optional?.choice(of: PhoneScreen.Activity.ActivityState.self)),
            isShown: isShown,
            milliseconds: object["milliseconds"].optional?.int(in: 0...millisecondsMax) ?? millisecondsDefault
        )
        object.reportUnknownFields()
        return wish
    }
}

extension WaitRoute.WaitRequest {
    fileprivate func isMet(by count: ScreenCount) -> Bool {
        guard isShown else { return count.showing == 0 }
        guard case .group(_, let share, let phones) = subject else { return count.showing > 0 }
        return count.showing >= phones && Double(count.showing) >= share * Double(count.total)
    }
}
