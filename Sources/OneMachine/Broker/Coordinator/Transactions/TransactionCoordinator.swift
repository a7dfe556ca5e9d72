package import Lifecycle
internal import Telemetry

/// The coordinator of transactions. It decides which producer owns a transactional id, which partitions
/// and groups its transaction has, and whether the transaction commits.
///
/// It has no I/O and no clock: it takes a request, a tick or the outcome of an action, and returns actions.
/// A change takes effect when its record is durable, and the answer leaves then. A decision is never
/// reversed: after a restart, prepared transactions are completed from the log. The coordinator must never
/// trap on the content of a request or a record. Confined to the thread of its caller.
package final class TransactionCoordinator {
    let settings: TransactionSettings
    let partitionExists: (PartitionID) -> Bool

    /// By transactional id.
    var transactions: [String: Transaction] = [:]
    package var producerIDs = ProducerIDAllocator()
    /// Requests that wait for producer ids.
    var waitingForIDs: [WaitingRequest] = []
    /// By transactional id.
    var deadlines = DeadlineQueue<String>()
    /// The time of the next look for unused transactional ids.
    var nextExpirationCheck: Instant
    /// The appends whose outcome is unknown.
    var pendingAppends: [AppendID: TransactionContinuation] = [:]
    /// The transactional ids with markers under way.
    var transactionalIDsByMarkers: [MarkersID: String] = [:]
    /// The time of the current event. No code here reads a clock.
    package private(set) var now: ClockReading
    /// The actions of the current event.
    private var actions: [TransactionAction] = []
    private var persistCount: UInt64 = 0
    private var markersCount: UInt64 = 0

    package init(
        settings: TransactionSettings = TransactionSettings(), at now: ClockReading,
        partitionExists: @escaping (PartitionID) -> Bool
    ) {
        self.settings = settings
        self.now = now
        self.partitionExists = partitionExists
        nextExpirationCheck = now.steady.advanced(byMilliseconds: settings.idExpirationCheckMilliseconds)
    }

    /// The time at which `tick` must be called at the latest.
    package var nextDeadline: Instant { min(nextExpirationCheck, deadlines.earliest ?? .distantFuture) }

    package func handle(
        _ request: TransactionRequest, from caller: Caller, at now: ClockReading
    ) -> [TransactionAction] {
        handleEvent(at: now) {
            switch request {
            case .initProducerID(let body): initProducerID(body, from: caller.token)
            case .addPartitions(let body): addPartitions(body, from: caller.token)
            case .addOffsets(let body): addOffsets(body, from: caller.token)
            case .end(let body): end(body, from: caller.token)
            }
        }
    }

    /// Handles the deadlines that have passed.
    package func tick(at now: ClockReading) -> [TransactionAction] {
        handleEvent(at: now) {
            for id in deadlines.takeDue(at: now.steady) {
                guard let transaction = transactions[id] else { continue }
                handleDeadline(of: transaction)
            }
            if nextExpirationCheck <= now.steady { expireIDs() }
        }
    }

    /// Notes that the append `id` is durable.
    package func appendSucceeded(_ id: AppendID, at now: ClockReading) -> [TransactionAction] {
        handleEvent(at: now) { settleAppend(id, durable: true) }
    }

    /// Notes that the append `id` failed for good.
    package func appendFailed(_ id: AppendID, at now: ClockReading) -> [TransactionAction] {
        handleEvent(at: now) { settleAppend(id, durable: false) }
    }

    /// Notes that all markers of `id` are durable.
    package func markersWritten(_ id: MarkersID, at now: ClockReading) -> [TransactionAction] {
        handleEvent(at: now) { completeTransaction(markers: id) }
    }

    /// Notes that some markers of `id` failed. Only those are tried again: a healthy partition must not
    /// get another marker for each attempt at a broken one.
    package func markersFailed(_ id: MarkersID, remaining: RemainingMarkers, at now: ClockReading)
        -> [TransactionAction]
    {
        handleEvent(at: now) { retryMarkers(id, remaining: remaining) }
    }

    /// Number of decided transactions whose first attempt at the markers failed.
    var unmarkedCount: Int { transactions.values.count { $0.remainingMarkers != nil } }

    /// Handles one event: sets the time, runs `body` and returns its actions.
    func handleEvent(at now: ClockReading, body: () -> Void) -> [TransactionAction] {
        self.now = now
        body()
        let eventActions = actions
        actions.removeAll()
        return eventActions
    }

    func reply(to token: ReplyToken, with answer: TransactionAnswer) { actions.append(.reply(token, answer)) }

    /// Appends records to the transactions' topic. `settleAppend` carries out the continuation when the
    /// outcome is known.
    func persist(_ records: [CoordinatorRecord], then continuation: TransactionContinuation) {
        persistCount += 1
        let id = AppendID(persistCount)
        pendingAppends[id] = continuation
        actions.append(.persist(id, records))
    }

    /// Begins an attempt at the markers: all of them, or those that the last attempt left out.
    func writeMarkers(of transaction: Transaction) {
        markersCount += 1
        let id = MarkersID(markersCount)
        transaction.markersUnderWay = id
        transactionalIDsByMarkers[id] = transaction.id
        let facts = transaction.facts
        let all = TransactionMarkers(
            producerID: facts.producerID, epoch: facts.epoch, commits: facts.state == .prepareCommit,
            partitions: facts.partitions.sorted(), groups: facts.groups.sorted())
        actions.append(.writeMarkers(id, transaction.remainingMarkers.map { all.restricted(to: $0) } ?? all))
    }

    func schedule(_ transaction: Transaction, at deadline: Instant) {
        transaction.deadline = deadline
        deadlines.schedule(transaction.id, at: deadline)
    }
}
