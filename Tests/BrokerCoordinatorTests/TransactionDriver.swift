import Lifecycle
import Telemetry

@testable import Broker

/// A transaction coordinator with a log and partitions. The test decides when appends and markers become
/// durable.
final class TransactionDriver {
    var settings: TransactionSettings
    var coordinator: TransactionCoordinator
    private(set) var milliseconds: Int64 = 1_000_000
    /// Durable records and markers, in their order.
    enum Event {
        case record(CoordinatorRecord)
        case markers(TransactionMarkers)
    }

    private(set) var history: [Event] = []
    private(set) var appending: [(AppendID, [CoordinatorRecord])] = []
    private(set) var marking: [(MarkersID, TransactionMarkers)] = []
    private(set) var answers: [ReplyToken: TransactionAnswer] = [:]
    var storesAtOnce = true
    var marksAtOnce = true
    /// The jump of the machine's clock, which the expiry clock does not follow.
    var clockLead: Int64 = 0
    private var tokens: UInt64 = 0

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

    var marked: [TransactionMarkers] {
        history.compactMap { if case .markers(let markers) = $0 { markers } else { nil } }
    }

    var now: ClockReading {
        ClockReading(
            steady: Instant(nanoseconds: milliseconds * 1_000_000),
            wall: WallTime(milliseconds: 1_700_000_000_000 + milliseconds + clockLead),
            expiry: WallTime(milliseconds: 1_700_000_000_000 + milliseconds))
    }

    /// Kills the process. Appends under way are lost, except for the first `keeping` ones.
    func restart(keeping: Int) {
        for (_, records) in appending.prefix(keeping) { append(records) }
        appending = []
        marking = []
        coordinator = TransactionCoordinator(
            settings: settings, at: now, partitionExists: { $0.topic != "missing" })
        for record in log { _ = coordinator.restore(record) }
        perform(coordinator.finishRestoring(at: now))
    }

    func send(_ request: TransactionRequest) -> ReplyToken {
        tokens += 1
        let token = ReplyToken(tokens)
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
        guard !appending.isEmpty else { return }
        let (id, records) = appending.removeFirst()
        append(records)
        perform(coordinator.appendSucceeded(id, at: now))
    }

    func failNext() {
        guard !appending.isEmpty else { return }
        let (id, _) = appending.removeFirst()
        perform(coordinator.appendFailed(id, at: now))
    }

    func markNext() {
        guard !marking.isEmpty else { return }
        let (id, markers) = marking.removeFirst()
        history.append(.markers(markers))
        perform(coordinator.markersWritten(id, at: now))
    }

    /// Markers are written, but the process dies before it knows.
    func markSilently() {
        guard let (_, markers) = marking.first else { return }
        history.append(.markers(markers))
    }

    private func append(_ records: [CoordinatorRecord]) { history += records.map { .record($0) } }

    /// Writes all markers except the last partition's and, with `groups`, except the groups' markers.
    func failMarkers(groups: Bool = true) {
        guard !marking.isEmpty else { return }
        let (id, markers) = marking.removeFirst()
        let left = RemainingMarkers(
            partitions: Array(markers.partitions.suffix(1)), groups: groups ? markers.groups : [])
        let written = RemainingMarkers(
            partitions: Array(markers.partitions.dropLast()), groups: groups ? [] : markers.groups)
        if !written.isEmpty { history.append(.markers(markers.restricted(to: written))) }
        perform(coordinator.markersFailed(id, remaining: left, at: now))
    }

    private func perform(_ actions: [TransactionAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let answer):
                precondition(answers[token] == nil, "a request was answered twice")
                answers[token] = answer
            case .persist(let id, let records): appending.append((id, records))
            case .writeMarkers(let id, let markers): marking.append((id, markers))
            }
        }
        if storesAtOnce && !appending.isEmpty { return storeNext() }
        if marksAtOnce && !marking.isEmpty { markNext() }
    }
}

/// Short forms of what transactional producers send.
struct Producer: Equatable {
    var name = "x"
    var id: Int64
    var epoch: Int16

    func add(_ topic: String = "t", _ partition: Int32 = 0, version: Int16 = 2) -> TransactionRequest {
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

    /// Asks for its next epoch after an error.
    func bump(version: Int16 = 4) -> TransactionRequest {
        Producer.initialise(name, version: version, id: id, epoch: epoch)
    }

    static func initialise(
        _ name: String? = "x", timeout: Int32 = 10_000, version: Int16 = 4, id: Int64 = -1, epoch: Int16 = -1
    ) -> TransactionRequest {
        .initProducerID(
            InitProducerIDRequest(
                version: version, transactionalID: name, timeoutMilliseconds: timeout, producerID: id,
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
    /// A new producer, as init_transactions makes one: it comes again while another one's
    /// transaction ends.
    func producer(_ name: String = "x") -> Producer? {
        for _ in 0..<3 {
            guard let answer = ask(Producer.initialise(name)) else { return nil }
            if var producer = answer.producer {
                producer.name = name
                return producer
            }
        }
        return nil
    }
}
