import Lifecycle
import Telemetry

@testable import Broker

/// A group coordinator with a log. The test decides when appends become durable.
final class GroupDriver {
    var settings: GroupSettings
    var coordinator: GroupCoordinator
    private(set) var milliseconds: Int64 = 1_000_000
    private(set) var log: [CoordinatorRecord] = []
    private(set) var appending: [(AppendID, [CoordinatorRecord])] = []
    private(set) var answers: [ReplyToken: GroupResponse] = [:]
    private(set) var ended: [MarkersID: Bool] = [:]
    var storesAtOnce = true
    private var tokens: UInt64 = 0
    private var bits: UInt64
    /// The jump of the machine's clock, which the expiry clock does not follow.
    var clockLead: Int64 = 0

    init(_ settings: GroupSettings = GroupSettings(), seed: UInt64 = 1) {
        self.settings = settings
        self.bits = seed
        coordinator = GroupCoordinator(
            settings: settings,
            at: ClockReading(steady: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0)),
            partitionExists: { _ in true })
        restart(keeping: 0)
    }

    var now: ClockReading {
        ClockReading(
            steady: Instant(nanoseconds: milliseconds * 1_000_000),
            wall: WallTime(milliseconds: 1_700_000_000_000 + milliseconds + clockLead),
            expiry: WallTime(milliseconds: 1_700_000_000_000 + milliseconds))
    }

    /// Kills the process. Appends under way are lost, except for the first `keeping` ones.
    func restart(keeping: Int) {
        for (_, records) in appending.prefix(keeping) { log += records }
        appending = []
        coordinator = GroupCoordinator(
            settings: settings, at: now, random: { [unowned self] in self.draw() },
            partitionExists: { $0.topic != "missing" })
        for record in log { _ = coordinator.restore(record) }
        coordinator.finishRestoring(at: now)
    }

    func draw() -> UInt64 {
        bits = bits &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return bits ^ (bits >> 29)
    }

    func send(_ request: GroupRequest, clientID: String = "client") -> ReplyToken {
        tokens += 1
        let token = ReplyToken(tokens)
        let caller = Caller(token: token, clientID: clientID, clientHost: "/127.0.0.1")
        perform(coordinator.handle(request, from: caller, at: now))
        return token
    }

    func ask(_ request: GroupRequest) -> GroupResponse? {
        answers.removeValue(forKey: send(request))
    }

    func take(_ token: ReplyToken) -> GroupResponse? { answers.removeValue(forKey: token) }

    func pass(milliseconds passed: Int64) {
        let end = milliseconds + passed
        while true {
            let next = coordinator.nextDeadline.nanoseconds / 1_000_000 + 1
            guard next <= end else { break }
            milliseconds = max(milliseconds + 1, next)
            perform(coordinator.tick(at: now))
        }
        milliseconds = max(milliseconds, end)
        perform(coordinator.tick(at: now))
    }

    func storeNext() {
        guard !appending.isEmpty else { return }
        let (id, records) = appending.removeFirst()
        log += records
        perform(coordinator.appendSucceeded(id, at: now))
    }

    func failNext() {
        guard !appending.isEmpty else { return }
        let (id, _) = appending.removeFirst()
        perform(coordinator.appendFailed(id, at: now))
    }

    func storeAll() { while !appending.isEmpty { storeNext() } }

    func endTransaction(_ producer: Int64, commits: Bool, groups: [String]) -> MarkersID {
        tokens += 1
        let id = MarkersID(tokens)
        perform(
            coordinator.endTransaction(
                markers: id, producerID: producer, commits: commits, groups: groups, at: now))
        return id
    }

    func topicDeleted(_ topic: String) { perform(coordinator.removeOffsets(ofTopic: topic, at: now)) }

    private func perform(_ actions: [GroupAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let response):
                precondition(answers[token] == nil, "a request was answered twice")
                answers[token] = response
            case .persist(let id, let records): appending.append((id, records))
            case .transactionEnded(let id, let durable): ended[id] = durable
            }
        }
        if storesAtOnce { storeAll() }
    }
}
