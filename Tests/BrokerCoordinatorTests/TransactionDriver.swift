import Lifecycle
import Telemetry

@testable import Broker

/// A transaction coordinator with a log and partitions. The test decides when appends and markers become
/// durable.
final class TransactionDriver {
    var settings: TransactionSettings
    var coordinator: TransactionCoordinator
    /// The time of the simulation.
    private(set) var milliseconds: Int64 = 1_000_000

    /// A durable record, or markers in the partitions.
    enum Event {
        case record(CoordinatorRecord)
        case markers(TransactionMarkers)
    }

    /// All durable records and markers, in their order.
    private(set) var history: [Event] = []
    /// Appends and markers that the test has neither stored nor failed.
    private(set) var unstoredAppends: [(AppendID, [CoordinatorRecord])] = []
    private(set) var unwrittenMarkers: [(MarkersID, TransactionMarkers)] = []
    private(set) var answers: [ReplyToken: TransactionAnswer] = [:]
    /// Whether appends, and markers, become durable at once.
    var storesAtOnce = true
    var marksAtOnce = true
    /// Milliseconds by which the machine's clock has jumped ahead. The expiry clock does not follow it.
    var clockLead: Int64 = 0
    private var lastToken: UInt64 = 0

    init(_ settings: TransactionSettings = TransactionSettings()) {
        self.settings = settings
        coordinator = TransactionCoordinator(
            settings: settings,
            at: ClockReading(steady: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0)),
            partitionExists: { _ in true })
        restart(keeping: 0)
    }

    var log: [CoordinatorRecord] {
        history.compactMap { if case .record(let record) = $0 { record } else { nil } }
    }

    var writtenMarkers: [TransactionMarkers] {
        history.compactMap { if case .markers(let markers) = $0 { markers } else { nil } }
    }

    var now: ClockReading {
        ClockReading(
            steady: Instant(nanoseconds: milliseconds * 1_000_000),
            wall: WallTime(milliseconds: 1_700_000_000_000 + milliseconds + clockLead),
            expiry: WallTime(milliseconds: 1_700_000_000_000 + milliseconds))
    }

    /// Kills the process and starts the next one. Of the unstored appends, only the first `keptAppends` are durable.
    func restart(keeping keptAppends: Int) {
        for (_, records) in unstoredAppends.prefix(keptAppends) { append(records) }
        unstoredAppends = []
        unwrittenMarkers = []
        coordinator = TransactionCoordinator(
            settings: settings, at: now, partitionExists: { $0.topic != "missing" })
        for record in log { _ = coordinator.restore(record) }
        perform(coordinator.finishRestoring(at: now))
    }

    func send(_ request: TransactionRequest) -> ReplyToken {
        lastToken += 1
        let token = ReplyToken(lastToken)
        perform(coordinator.handle(request, from: Caller(token: token), at: now))
        return token
    }

    func ask(_ request: TransactionRequest) -> TransactionAnswer? {
        answers.removeValue(forKey: send(request))
    }

    func take(_ token: ReplyToken) -> TransactionAnswer? { answers.removeValue(forKey: token) }

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
        append(records)
        perform(coordinator.appendSucceeded(id, at: now))
    }

    func failNext() {
        guard !unstoredAppends.isEmpty else { return }
        let (id, _) = unstoredAppends.removeFirst()
        perform(coordinator.appendFailed(id, at: now))
    }

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

    private func append(_ records: [CoordinatorRecord]) { history += records.map { .record($0) } }

    /// Writes the markers, but not the last partition's marker and, with `failsGroups`, not the markers of the groups.
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
        if storesAtOnce && !unstoredAppends.isEmpty { return storeNext() }
        if marksAtOnce && !unwrittenMarkers.isEmpty { writeNextMarkers() }
    }
}

/// A transactional producer, and its requests.
struct Producer: Equatable {
    var name = "x"
    var id: Int64
    var epoch: Int16

    func add(topic: String = "t", partition: Int32 = 0, version: Int16 = 2) -> TransactionRequest {
        .addPartitions(
            AddPartitionsToTxnRequest(
                version: version, transactionalID: name, producerID: id, producerEpoch: epoch,
                topics: [.init(topic: topic, partitions: [partition])]))
    }

    func addOffsets(_ group: String = "g", version: Int16 = 2) -> TransactionRequest {
        .addOffsets(
            AddOffsetsToTxnRequest(
                version: version, transactionalID: name, producerID: id, producerEpoch: epoch, groupID: group)
        )
    }

    func end(commits: Bool, version: Int16 = 2) -> TransactionRequest {
        .end(
            EndTxnRequest(
                version: version, transactionalID: name, producerID: id, producerEpoch: epoch,
                commits: commits))
    }

    /// Asks for the next epoch after an error.
    func nextEpoch(version: Int16 = 4) -> TransactionRequest {
        Producer.initialize(name, version: version, id: id, epoch: epoch)
    }

    static func initialize(
        _ name: String? = "x", timeoutMilliseconds: Int32 = 10_000, version: Int16 = 4, id: Int64 = -1,
        epoch: Int16 = -1
    ) -> TransactionRequest {
        .initProducerID(
            InitProducerIDRequest(
                version: version, transactionalID: name, timeoutMilliseconds: timeoutMilliseconds,
                producerID: id,
                producerEpoch: epoch))
    }
}

extension TransactionAnswer {
    var error: ErrorCode? {
        switch self {
        case .initProducerID(let body): body.error
        case .addPartitions(let body): body.topics.first?.partitions.first?.error
        case .addOffsets(let body), .end(let body): body.error
        }
    }

    var producer: Producer? {
        guard case .initProducerID(let body) = self, body.error == .none else { return nil }
        return Producer(id: body.producerID, epoch: body.producerEpoch)
    }
}

extension TransactionDriver {
    /// Makes a producer as `init_transactions` of librdkafka does. It asks again while the transaction of another
    /// producer ends.
    func producer(named name: String = "x") -> Producer? {
        for _ in 0..<3 {
            guard let answer = ask(Producer.initialize(name)) else { return nil }
            if var producer = answer.producer {
                producer.name = name
                return producer
            }
        }
        return nil
    }
}
