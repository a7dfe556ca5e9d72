import Lifecycle
import Telemetry

@testable import Broker

/// A group coordinator with a log. The test decides when appends become durable.
final class GroupDriver {
    var settings: GroupSettings
    var coordinator: GroupCoordinator
    /// The time of the simulation.
    private(set) var milliseconds: Int64 = 1_000_000
    /// The durable records.
    private(set) var log: [CoordinatorRecord] = []
    /// Appends that the test has neither stored nor failed.
    private(set) var unstoredAppends: [(AppendID, [CoordinatorRecord])] = []
    private(set) var answers: [ReplyToken: GroupResponse] = [:]
    /// The ends of transactions that were answered, with whether they are durable.
    private(set) var ended: [MarkersID: Bool] = [:]
    /// Whether each append becomes durable at once.
    var storesAtOnce = true
    private var lastToken: UInt64 = 0
    /// The state of the random generator that makes member ids.
    private var randomState: UInt64
    /// Milliseconds by which the machine's clock has jumped ahead. The expiry clock does not follow it.
    var clockLead: Int64 = 0

    init(_ settings: GroupSettings = GroupSettings(), seed: UInt64 = 1) {
        self.settings = settings
        randomState = seed
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

    /// Kills the process and starts the next one. Of the unstored appends, only the first `keptAppends` are durable.
    func restart(keeping keptAppends: Int) {
        for (_, records) in unstoredAppends.prefix(keptAppends) { log += records }
        unstoredAppends = []
        coordinator = GroupCoordinator(
            settings: settings, at: now, random: { [unowned self] in self.draw() },
            partitionExists: { $0.topic != "missing" })
        for record in log { _ = coordinator.restore(record) }
        coordinator.finishRestoring(at: now)
    }

    func draw() -> UInt64 {
        randomState = randomState &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return randomState ^ (randomState >> 29)
    }

    /// Sends a request whose answer is taken later.
    func send(_ request: GroupRequest, clientID: String = "client") -> ReplyToken {
        lastToken += 1
        let token = ReplyToken(lastToken)
        let caller = Caller(token: token, clientID: clientID, clientHost: "/127.0.0.1")
        perform(coordinator.handle(request, from: caller, at: now))
        return token
    }

    /// Sends a request, and returns its answer, or nil if it has to wait.
    func ask(_ request: GroupRequest) -> GroupResponse? {
        answers.removeValue(forKey: send(request))
    }

    /// Takes the answer of a request that was sent before.
    func take(_ token: ReplyToken) -> GroupResponse? { answers.removeValue(forKey: token) }

    /// Lets time pass, with a tick at each deadline of the coordinator.
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
        guard !unstoredAppends.isEmpty else { return }
        let (id, records) = unstoredAppends.removeFirst()
        log += records
        perform(coordinator.appendSucceeded(id, at: now))
    }

    func failNext() {
        guard !unstoredAppends.isEmpty else { return }
        let (id, _) = unstoredAppends.removeFirst()
        perform(coordinator.appendFailed(id, at: now))
    }

    func storeAll() { while !unstoredAppends.isEmpty { storeNext() } }

    func endTransaction(ofProducer producer: Int64, commits: Bool, groups: [String]) -> MarkersID {
        lastToken += 1
        let id = MarkersID(lastToken)
        perform(
            coordinator.endTransaction(
                markers: id, producerID: producer, commits: commits, groups: groups, at: now))
        return id
    }

    func deleteOffsets(ofTopic topic: String) { perform(coordinator.removeOffsets(ofTopic: topic, at: now)) }

    private func perform(_ actions: [GroupAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let response):
                precondition(answers[token] == nil, "a request was answered twice")
                answers[token] = response
            case .persist(let id, let records): unstoredAppends.append((id, records))
            case .transactionEnded(let id, let durable): ended[id] = durable
            }
        }
        if storesAtOnce { storeAll() }
    }
}
