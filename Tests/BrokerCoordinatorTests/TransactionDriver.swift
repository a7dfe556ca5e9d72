import Lifecycle
import Telemetry

@testable import Broker

/// A `TransactionCoordinator` with a log in memory, partitions that take markers, and a clock that only the test moves.
///
/// `send` gives a request to the coordinator, and `take` returns its answer, or nil while it waits. `ask` does both.
/// The coordinator's appends and markers are durable at once. If `storesAtOnce` is false, an append waits for
/// `storeNext` or `failNext`. If `marksAtOnce` is false, markers wait for `writeNextMarkers` or `failMarkers`.
/// Partitions of the topic "missing" do not exist.
final class TransactionDriver {
    /// The wall clock when the steady clock was 0, in November 2023.
    private static let wallStartMilliseconds: Int64 = 1_700_000_000_000

    var settings: TransactionSettings
    var coordinator: TransactionCoordinator
    /// The steady clock, in milliseconds.
    private(set) var nowMilliseconds: Int64 = 1_000_000

    /// A durable record, or markers in the partitions.
    enum Event {
        case record(CoordinatorRecord)
        case markers(TransactionMarkers)
    }

    /// All durable records and markers, in their order.
    private(set) var history: [Event] = []
    /// Appends and markers that the test has neither stored nor failed.
    private(set) var unstoredAppends: [(id: AppendID, records: [CoordinatorRecord])] = []
    private(set) var unwrittenMarkers: [(id: MarkersID, markers: TransactionMarkers)] = []
    private(set) var answers: [ReplyToken: TransactionAnswer] = [:]
    /// Whether appends, and markers, become durable at once.
    var storesAtOnce = true
    var marksAtOnce = true
    /// Milliseconds by which the machine's clock has jumped ahead. The expiry clock does not follow it.
    var clockLeadMilliseconds: Int64 = 0
    private var lastToken: UInt64 = 0

    init(_ settings: TransactionSettings = TransactionSettings()) {
        self.settings = settings
        coordinator = TransactionCoordinator(
            settings: settings,
            at: ClockReading(steady: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0)),
            partitionExists: { _ in true })
        // Replaces this coordinator by one that uses the driver's clock.
        restart()
    }

    var log: [CoordinatorRecord] {
        history.compactMap { if case .record(let record) = $0 { record } else { nil } }
    }

    var writtenMarkers: [TransactionMarkers] {
        history.compactMap { if case .markers(let markers) = $0 { markers } else { nil } }
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
        for unstored in unstoredAppends.prefix(keptAppends) { append(unstored.records) }
        unstoredAppends = []
        unwrittenMarkers = []
        coordinator = TransactionCoordinator(
            settings: settings, at: now, partitionExists: { $0.topic != "missing" })
        for record in log { _ = coordinator.restore(record) }
        perform(coordinator.finishRestoring(at: now))
    }

    /// Sends a request. `take` returns its answer.
    func send(_ request: TransactionRequest) -> ReplyToken {
        lastToken += 1
        let token = ReplyToken(lastToken)
        perform(coordinator.handle(request, from: Caller(token: token), at: now))
        return token
    }

    /// Sends a request, and returns its answer. If the answer has to wait, returns nil, and the answer is lost.
    func ask(_ request: TransactionRequest) -> TransactionAnswer? {
        answers.removeValue(forKey: send(request))
    }

    /// Returns the answer of a request that was sent before, once. Returns nil while the answer waits.
    func take(_ token: ReplyToken) -> TransactionAnswer? { answers.removeValue(forKey: token) }

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
        append(records)
        perform(coordinator.appendSucceeded(id, at: now))
    }

    /// Lets the oldest unstored append fail.
    func failNext() {
        guard !unstoredAppends.isEmpty else { return }
        let (id, _) = unstoredAppends.removeFirst()
        perform(coordinator.appendFailed(id, at: now))
    }

    /// Writes the oldest unwritten markers into their partitions.
    func writeNextMarkers() {
        guard !unwrittenMarkers.isEmpty else { return }
        let (id, markers) = unwrittenMarkers.removeFirst()
        history.append(.markers(markers))
        perform(coordinator.markersWritten(id, at: now))
    }

    /// Writes the next markers without an answer, as when the process dies before the answer.
    func writeMarkersWithoutAnswer() {
        guard let (_, markers) = unwrittenMarkers.first else { return }
        history.append(.markers(markers))
    }

    /// Writes the oldest unwritten markers in part. The marker of the last partition fails, and with `failsGroups` also
    /// the markers of the groups.
    func failMarkers(failsGroups: Bool = true) {
        guard !unwrittenMarkers.isEmpty else { return }
        let (id, markers) = unwrittenMarkers.removeFirst()
        let remaining = RemainingMarkers(
            partitions: Array(markers.partitions.suffix(1)), groups: failsGroups ? markers.groups : [])
        let written = RemainingMarkers(
            partitions: Array(markers.partitions.dropLast()), groups: failsGroups ? [] : markers.groups)
        if !written.isEmpty { history.append(.markers(markers.restricted(to: written))) }
        perform(coordinator.markersFailed(id, remaining: remaining, at: now))
    }

    private func append(_ records: [CoordinatorRecord]) { history += records.map { .record($0) } }

    private func perform(_ actions: [TransactionAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let answer):
                precondition(answers[token] == nil, "a request was answered twice")
                answers[token] = answer
            case .persist(let id, let records): unstoredAppends.append((id, records))
            case .writeMarkers(let id, let markers): unwrittenMarkers.append((id, markers))
            }
        }
        // Each of these calls `perform` again, until nothing is left.
        if storesAtOnce && !unstoredAppends.isEmpty { return storeNext() }
        if marksAtOnce && !unwrittenMarkers.isEmpty { writeNextMarkers() }
    }
}

/// A transactional producer, and its requests. An epoch that is too old is answered with PRODUCER_FENCED, and in older
/// versions of a request with INVALID_PRODUCER_EPOCH. The default versions are the first with PRODUCER_FENCED. The
/// default partition is partition 0 of the topic "t", and the default group is "g".
struct Producer: Equatable {
    var transactionalID = "x"
    /// The producer id.
    var id: Int64
    var epoch: Int16

    /// Adds a partition to the transaction (AddPartitionsToTxn).
    func add(topic: String = "t", partition: Int32 = 0, version: Int16 = 2) -> TransactionRequest {
        .addPartitions(
            AddPartitionsToTxnRequest(
                version: version, transactionalID: transactionalID, producerID: id, producerEpoch: epoch,
                topics: [.init(topic: topic, partitions: [partition])]))
    }

    /// Adds the offsets of a group to the transaction (AddOffsetsToTxn).
    func addOffsets(_ group: String = "g", version: Int16 = 2) -> TransactionRequest {
        .addOffsets(
            AddOffsetsToTxnRequest(
                version: version, transactionalID: transactionalID, producerID: id, producerEpoch: epoch,
                groupID: group))
    }

    /// Commits or aborts the transaction (EndTxn).
    func end(commits: Bool, version: Int16 = 2) -> TransactionRequest {
        .end(
            EndTxnRequest(
                version: version, transactionalID: transactionalID, producerID: id, producerEpoch: epoch,
                commits: commits))
    }

    /// Asks for the next epoch of this producer id, as a producer does after an error.
    func nextEpoch(version: Int16 = 4) -> TransactionRequest {
        Producer.initialize(transactionalID: transactionalID, version: version, id: id, epoch: epoch)
    }

    /// Asks for a producer id and an epoch (InitProducerId). -1 stands for a client that has none. Without a
    /// transactional id, the producer is idempotent only.
    static func initialize(
        transactionalID: String?, timeoutMilliseconds: Int32 = 10_000, version: Int16 = 4, id: Int64 = -1,
        epoch: Int16 = -1
    ) -> TransactionRequest {
        .initProducerID(
            InitProducerIDRequest(
                version: version, transactionalID: transactionalID, timeoutMilliseconds: timeoutMilliseconds,
                producerID: id, producerEpoch: epoch))
    }
}

extension TransactionAnswer {
    /// The error of the answer, or of its first partition. `ErrorCode.none` is success.
    var error: ErrorCode? {
        switch self {
        case .initProducerID(let body): body.error
        case .addPartitions(let body): body.topics.first?.partitions.first?.error
        case .addOffsets(let body), .end(let body): body.error
        }
    }

    /// The initialized producer, with the default transactional id; nil after an error.
    var producer: Producer? {
        guard case .initProducerID(let body) = self, body.error == .none else { return nil }
        return Producer(id: body.producerID, epoch: body.producerEpoch)
    }
}

extension TransactionDriver {
    /// Initializes a producer as `init_transactions` of librdkafka does: it asks again while the transaction of the
    /// producer before it is aborted.
    func producer() -> Producer? {
        for _ in 0..<3 {
            guard let answer = ask(Producer.initialize(transactionalID: "x")) else { return nil }
            if let producer = answer.producer { return producer }
        }
        return nil
    }
}
