internal import Lifecycle
internal import Telemetry

/// Decides who owns a transactional id, which transaction is open under it, and how it ends.
///
/// A decision is durable before anybody hears of it, and is never reversed: after a restart the
/// prepared ones are carried out from the log. No I/O and no clock, as in `GroupCoordinator`.
/// It must never trap on what a request or a record says. Confined to the thread of its caller.
final class TransactionCoordinator {
    let settings: TransactionSettings
    let partitionExists: (TopicPartition) -> Bool

    var transactions: [String: Transaction] = [:]
    var producerIDs = ProducerIDs()
    /// Requests that wait for producer ids.
    var waitingForIDs: [(InitProducerIDRequest, ReplyToken)] = []
    var deadlines = DeadlineQueue<String>()
    var expirationCheck: Instant
    var waiting: [PersistID: TransactionContinuation] = [:]
    /// Whose markers are under way.
    var marking: [MarkersID: String] = [:]
    private(set) var now: Moment
    private var actions: [TransactionAction] = []
    private var persistCount: UInt64 = 0
    private var markersCount: UInt64 = 0

    init(
        _ settings: TransactionSettings = TransactionSettings(), at now: Moment,
        partitionExists: @escaping (TopicPartition) -> Bool
    ) {
        self.settings = settings
        self.now = now
        self.partitionExists = partitionExists
        expirationCheck = now.steady.advanced(byMilliseconds: settings.idExpirationCheckMilliseconds)
    }

    /// When `tick` has something to do at the latest.
    var nextDeadline: Instant { min(expirationCheck, deadlines.earliest ?? .distantFuture) }

    func handle(
        _ request: TransactionRequest, from caller: Caller, at now: Moment
    ) -> [TransactionAction] {
        enter(at: now) {
            switch request {
            case .initProducerID(let body): initialise(body, from: caller.token)
            case .addPartitions(let body): add(body, from: caller.token)
            case .addOffsets(let body): add(body, from: caller.token)
            case .end(let body): end(body, from: caller.token)
            }
        }
    }

    func tick(at now: Moment) -> [TransactionAction] {
        enter(at: now) {
            for id in deadlines.takeDue(now.steady) {
                guard let transaction = transactions[id] else { continue }
                wake(transaction)
            }
            if expirationCheck <= now.steady { expireIDs() }
        }
    }

    /// The append named by `id` is durable.
    func persisted(_ id: PersistID, at now: Moment) -> [TransactionAction] {
        enter(at: now) { settle(id, durable: true) }
    }

    /// The append named by `id` did not happen and never will.
    func failed(_ id: PersistID, at now: Moment) -> [TransactionAction] {
        enter(at: now) { settle(id, durable: false) }
    }

    /// All markers named by `id` are durable.
    func markersWritten(_ id: MarkersID, at now: Moment) -> [TransactionAction] {
        enter(at: now) { complete(id) }
    }

    /// Some of the markers named by `id` are not durable; only those are asked for again, later. A healthy
    /// partition must not get another marker for each attempt at a broken one.
    func markersFailed(_ id: MarkersID, left: MarkersLeft, at now: Moment) -> [TransactionAction] {
        enter(at: now) { retryMarkers(id, left) }
    }

    /// Transactions that are decided and could not be marked at the first attempt.
    var unmarkedCount: Int { transactions.values.count { $0.failedAttempts > 0 } }

    func enter(at now: Moment, _ body: () -> Void) -> [TransactionAction] {
        self.now = now
        body()
        defer { actions.removeAll() }
        return actions
    }

    func reply(_ token: ReplyToken, _ answer: TransactionAnswer) { actions.append(.reply(token, answer)) }

    func persist(_ records: [CoordinatorRecord], then continuation: TransactionContinuation) {
        persistCount += 1
        let id = PersistID(persistCount)
        waiting[id] = continuation
        actions.append(.persist(id, records))
    }

    func writeMarkers(_ transaction: Transaction) {
        markersCount += 1
        let id = MarkersID(markersCount)
        transaction.markers = id
        marking[id] = transaction.id
        let facts = transaction.facts
        let all = TransactionMarkers(
            producerID: facts.producerID, epoch: facts.epoch, commits: facts.state == .prepareCommit,
            partitions: facts.partitions.sorted(), groups: facts.groups.sorted())
        actions.append(.writeMarkers(id, transaction.left.map { all.only($0) } ?? all))
    }

    func schedule(_ transaction: Transaction, at deadline: Instant) {
        transaction.deadline = deadline
        deadlines.schedule(transaction.id, at: deadline)
    }
}
