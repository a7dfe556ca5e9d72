import Lifecycle
import Telemetry

@testable import Broker

/// A `GroupCoordinator` with a log in memory and a clock that only the test moves.
///
/// `send` gives a request to the coordinator, and `take` returns its answer, or nil while it waits. `ask` does both.
/// The coordinator's appends to the log are durable at once. If `storesAtOnce` is false, an append waits until the test
/// stores it (`storeNext`, `storeAll`) or fails it (`failNext`). Partitions of the topic "missing" do not exist.
final class GroupDriver {
    /// The wall clock when the steady clock was 0, in November 2023.
    private static let wallStartMilliseconds: Int64 = 1_700_000_000_000

    var settings: GroupSettings
    var coordinator: GroupCoordinator
    /// The steady clock, in milliseconds.
    private(set) var nowMilliseconds: Int64 = 1_000_000
    /// The durable records.
    private(set) var log: [CoordinatorRecord] = []
    /// Appends that the test has neither stored nor failed.
    private(set) var unstoredAppends: [(id: AppendID, records: [CoordinatorRecord])] = []
    private(set) var answers: [ReplyToken: GroupResponse] = [:]
    /// The answered ends of transactions, by their id: true if the end is durable, false if its append failed.
    private(set) var endIsDurable: [MarkersID: Bool] = [:]
    /// Whether each append becomes durable at once.
    var storesAtOnce = true
    private var lastToken: UInt64 = 0
    /// The state of the random generator that makes member ids.
    private var randomState: UInt64
    /// Milliseconds by which the machine's clock has jumped ahead. The expiry clock does not follow it.
    var clockLeadMilliseconds: Int64 = 0

    init(_ settings: GroupSettings = GroupSettings(), seed: UInt64 = 1) {
        self.settings = settings
        randomState = seed
        coordinator = GroupCoordinator(
            settings: settings,
            at: ClockReading(steady: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0)),
            partitionExists: { _ in true })
        // Replaces this coordinator by one that uses the driver's clock and random numbers.
        restart()
    }

    var now: ClockReading {
        ClockReading(
            steady: Instant(nanoseconds: nowMilliseconds * 1_000_000),
            wall: WallTime(
                milliseconds: Self.wallStartMilliseconds + nowMilliseconds + clockLeadMilliseconds),
            expiry: WallTime(milliseconds: Self.wallStartMilliseconds + nowMilliseconds))
    }

    /// Kills the process and starts the next one. Of the unstored appends, only the first `keptAppends` became durable.
    func restart(keepingUnstoredAppends keptAppends: Int = 0) {
        for append in unstoredAppends.prefix(keptAppends) { log += append.records }
        unstoredAppends = []
        coordinator = GroupCoordinator(
            settings: settings, at: now, random: { [unowned self] in self.randomNumber() },
            partitionExists: { $0.topic != "missing" })
        for record in log { _ = coordinator.restore(record) }
        coordinator.finishRestoring(at: now)
    }

    /// Returns the next number of a linear congruential generator with Knuth's constants.
    private func randomNumber() -> UInt64 {
        randomState = randomState &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return randomState ^ (randomState >> 29)
    }

    /// Sends a request. `take` returns its answer.
    func send(_ request: GroupRequest, clientID: String = "client") -> ReplyToken {
        lastToken += 1
        let token = ReplyToken(lastToken)
        let caller = Caller(token: token, clientID: clientID, clientHost: "/127.0.0.1")
        perform(coordinator.handle(request, from: caller, at: now))
        return token
    }

    /// Sends a request, and returns its answer. If the answer has to wait, returns nil, and the answer is lost.
    func ask(_ request: GroupRequest) -> GroupResponse? {
        answers.removeValue(forKey: send(request))
    }

    /// Returns the answer of a request that was sent before, once. Returns nil while the answer waits.
    func take(_ token: ReplyToken) -> GroupResponse? { answers.removeValue(forKey: token) }

    /// Lets time pass, with a tick at each deadline of the coordinator.
    func pass(milliseconds: Int64) {
        let end = nowMilliseconds + milliseconds
        while true {
            // The first whole millisecond after the deadline.
            let next = coordinator.nextDeadline.nanoseconds / 1_000_000 + 1
            guard next <= end else { break }
            nowMilliseconds = max(nowMilliseconds + 1, next)
            perform(coordinator.tick(at: now))
        }
        nowMilliseconds = max(nowMilliseconds, end)
        perform(coordinator.tick(at: now))
    }

    /// Makes the oldest unstored append durable.
    func storeNext() {
        guard !unstoredAppends.isEmpty else { return }
        let (id, records) = unstoredAppends.removeFirst()
        log += records
        perform(coordinator.appendSucceeded(id, at: now))
    }

    /// Lets the oldest unstored append fail.
    func failNext() {
        guard !unstoredAppends.isEmpty else { return }
        let (id, _) = unstoredAppends.removeFirst()
        perform(coordinator.appendFailed(id, at: now))
    }

    func storeAll() { while !unstoredAppends.isEmpty { storeNext() } }

    /// Ends a transaction in these groups, as the transaction coordinator does. `endIsDurable` has the outcome.
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
            case .transactionEnded(let id, let durable): endIsDurable[id] = durable
            }
        }
        if storesAtOnce { storeAll() }
    }
}
