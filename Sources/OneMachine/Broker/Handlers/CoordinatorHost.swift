internal import Lifecycle
internal import Telemetry

/// The host of the two coordinators, which decide and do no I/O. It gives them requests, ticks and the
/// outcomes of appends, and carries out their actions on connections and logs.
final class CoordinatorHost {
    /// The time between two log messages about markers that cannot be written.
    private static let alarmMilliseconds = 60_000

    private let topics: TopicStore
    private let loop: EventLoop
    private let groups: GroupCoordinator
    private let transactions: TransactionCoordinator
    private let groupTopic: CoordinatorTopic
    private let transactionTopic: CoordinatorTopic
    /// The partitions in which a committed transaction is aborted, because a test injects that.
    private let transactionAborts: TransactionAborts?
    /// Whether a partition takes no marker now, because a test injects that. The marker is tried again later.
    private let refusesMarker: (PartitionID) -> Bool
    /// The open request of each token. It stays until the coordinator answers, even if its client is
    /// gone; the coordinator answers every token.
    private var exchanges: [ReplyToken: RequestExchange] = [:]
    private var tokenCount: UInt64 = 0
    /// The attempts at markers that are under way.
    private var markers: [MarkersID: PendingMarkers] = [:]
    private var timer: LoopTimer?
    /// The time for which the timer is set.
    private var nextTick = Instant.distantFuture
    private let log: Log
    /// From this time on, a marker that cannot be written is logged again.
    private var nextAlarm = Instant.now()
    /// The time of the expiry clock at the last upkeep.
    var expiryTime: WallTime

    init(
        groupTopic: CoordinatorTopic, transactionTopic: CoordinatorTopic, topics: TopicStore, loop: EventLoop,
        expiryTime: WallTime, log: Log, transactionAborts: TransactionAborts? = nil,
        refusesMarker: @escaping (PartitionID) -> Bool = { _ in false }
    ) {
        self.topics = topics
        self.transactionAborts = transactionAborts
        self.refusesMarker = refusesMarker
        self.loop = loop
        self.groupTopic = groupTopic
        self.transactionTopic = transactionTopic
        let exists: (PartitionID) -> Bool = { partition in
            topics.log(topic: partition.topic, partition: partition.partition) != nil
        }
        self.expiryTime = expiryTime
        self.log = log
        let now = ClockReading(steady: .now(), wall: .now(), expiry: expiryTime)
        groups = GroupCoordinator(at: now, partitionExists: exists)
        transactions = TransactionCoordinator(at: now, partitionExists: exists)
    }

    private var now: ClockReading { ClockReading(steady: .now(), wall: .now(), expiry: expiryTime) }

    /// Restores both coordinators from their topics, starts their timeouts, and completes decided
    /// transactions.
    func start() throws(LogError) {
        try groupTopic.replay(reportingTo: log) { groups.restore($0) }
        try transactionTopic.replay(reportingTo: log) { transactions.restore($0) }
        timer = LoopTimer(on: loop) { [weak self] in self?.tick() }
        groups.finishRestoring(at: now)
        perform(transactions.finishRestoring(at: now))
    }

    func stop() {
        timer?.cancel()
        timer = nil
    }

    private func tick() {
        nextTick = .distantFuture
        perform(groups.tick(at: now))
        perform(transactions.tick(at: now))
    }

    private func scheduleTick() {
        let next = min(groups.nextDeadline, transactions.nextDeadline)
        guard let timer, next < nextTick else { return }
        nextTick = next
        timer.schedule(at: next)
    }

    // MARK: Requests

    func handle(_ request: GroupRequest, for exchange: RequestExchange) {
        perform(groups.handle(request, from: caller(of: exchange), at: now))
    }

    func handle(_ request: TransactionRequest, for exchange: RequestExchange) {
        perform(transactions.handle(request, from: caller(of: exchange), at: now))
    }

    /// Handles TxnOffsetCommit, which concerns both coordinators: the transaction coordinator knows whether
    /// the transaction is open, and the group coordinator stores the offsets.
    func handle(_ request: TxnOffsetCommitRequest, for exchange: RequestExchange) {
        if let error = transactions.refusal(of: request.producer, group: request.groupID) {
            let answer = PartitionErrors.all(request.topics, error: error)
            return exchange.answer { answer.write(to: &$0, hasThrottleTime: true) }
        }
        handle(.transactionalCommit(request), for: exchange)
    }

    /// Removes the groups' offsets of a deleted topic.
    func removeOffsets(ofTopic name: String) {
        perform(groups.removeOffsets(ofTopic: name, at: now))
    }

    /// Returns the error if a transactional batch must not be appended to the partition, else nil.
    func refusal(
        transactionalID: String?, producer id: Int64, epoch: Int16, partition: PartitionID
    ) -> ErrorCode? {
        guard let transactionalID else { return .invalidTxnState }
        return transactions.refusal(
            of: .init(transactionalID: transactionalID, id: id, epoch: epoch), partition: partition)
    }

    private func caller(of exchange: RequestExchange) -> Caller {
        tokenCount += 1
        let token = ReplyToken(tokenCount)
        exchanges[token] = exchange
        return Caller(
            token: token, clientID: exchange.header.clientID ?? "", clientHost: "/" + exchange.clientHost)
    }

    // MARK: Actions

    private func perform(_ actions: [GroupAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let response):
                guard let exchange = exchanges.removeValue(forKey: token) else { continue }
                exchange.answer { response.write(to: &$0, version: exchange.version) }
            case .persist(let id, let records):
                groupTopic.append(records) { [unowned self] error in
                    perform(
                        error == nil ? groups.appendSucceeded(id, at: now) : groups.appendFailed(id, at: now))
                }
            case .transactionEnded(let id, let durable):
                settlePart(of: id) { if !durable { $0.remaining.groups = $0.groups } }
            }
        }
        scheduleTick()
    }

    private func perform(_ actions: [TransactionAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let answer):
                guard let exchange = exchanges.removeValue(forKey: token) else { continue }
                exchange.answer { answer.write(to: &$0, version: exchange.version) }
            case .persist(let id, let records):
                transactionTopic.append(records) { [unowned self] error in
                    perform(
                        error == nil
                            ? transactions.appendSucceeded(id, at: now)
                            : transactions.appendFailed(id, at: now))
                }
            case .writeMarkers(let id, let markers):
                writeMarkers(markers, id: id)
            }
        }
        scheduleTick()
    }

    // MARK: Markers

    /// One attempt at the markers of a transaction. It has one part for each partition, and one for all
    /// groups together.
    private struct PendingMarkers {
        /// Number of parts whose outcome is unknown.
        var openParts: Int
        let groups: [String]
        /// The partitions and groups that failed.
        var remaining = RemainingMarkers()
    }

    /// Begins an attempt. Its outcome comes from `settlePart`.
    private func writeMarkers(_ decision: TransactionMarkers, id: MarkersID) {
        let groupsPart = 1
        // Settled at the end of this function, so that the attempt is not over before all parts have begun.
        let startPart = 1
        markers[id] = PendingMarkers(
            openParts: decision.partitions.count + groupsPart + startPart, groups: decision.groups)
        let time = WallTime.now()
        for partition in decision.partitions {
            appendMarker(decision, to: partition, at: time) { [unowned self] hasFailed in
                settlePart(of: id) { if hasFailed { $0.remaining.partitions.append(partition) } }
            }
        }
        perform(
            groups.endTransaction(
                markers: id, producerID: decision.producerID, commits: decision.commits,
                groups: decision.groups, at: now))
        settlePart(of: id) { _ in }
    }

    /// Appends the marker to one partition. Calls `done` when the outcome is known, possibly at once.
    private func appendMarker(
        _ decision: TransactionMarkers, to partition: PartitionID, at now: WallTime,
        done: @escaping (_ hasFailed: Bool) -> Void
    ) {
        // A partition that was deleted in the meantime needs no marker.
        guard let log = topics.log(topic: partition.topic, partition: partition.partition) else {
            return done(false)
        }
        if refusesMarker(partition) { return done(true) }
        let isAbortedByTest = transactionAborts?(partition.topic, partition.partition) ?? false
        do throws(LogError) {
            let marker = try log.appendMarker(
                producerID: decision.producerID, epoch: decision.epoch,
                commit: decision.commits && !isAbortedByTest, now: now)
            log.whenDurable(upTo: marker.nextOffset) { done($0 != nil) }
        } catch {
            // A newer epoch writes there already, so this transaction was ended before.
            if case .fencedProducer = error { return done(false) }
            done(true)
        }
    }

    /// Settles one part of an attempt. After the last part, the coordinator gets the outcome.
    private func settlePart(of id: MarkersID, update: (inout PendingMarkers) -> Void) {
        guard var attempt = markers[id] else { return }
        attempt.openParts -= 1
        update(&attempt)
        markers[id] = attempt
        guard attempt.openParts == 0 else { return }
        markers[id] = nil
        guard !attempt.remaining.isEmpty else { return perform(transactions.markersWritten(id, at: now)) }
        logUnmarked(attempt.remaining)
        perform(transactions.markersFailed(id, remaining: attempt.remaining, at: now))
    }

    /// Logs once a minute that a marker cannot be written. If that lasts, a person must act.
    private func logUnmarked(_ remaining: RemainingMarkers) {
        let steady = Instant.now()
        guard steady >= nextAlarm else { return }
        nextAlarm = steady.advanced(byMilliseconds: Self.alarmMilliseconds)
        let firstPartition = remaining.partitions.first.map { "\($0.topic)-\($0.partition)" }
        log.error(
            "a transaction cannot be ended everywhere, so its readers wait; look at the disk and at the errors of that log",
            .field("at", firstPartition ?? remaining.groups.first ?? ""),
            .field("partitions", remaining.partitions.count), .field("groups", remaining.groups.count))
    }

    // MARK: Metrics

    var unmarkedTransactions: Int { transactions.unmarkedCount }

    var oldestTransactionSeconds: Double {
        let now = WallTime.now().milliseconds
        let starts = transactions.transactions.values.compactMap { transaction in
            let state = transaction.facts.state
            return state == .ongoing || state.isPrepared ? transaction.facts.startedAt?.milliseconds : nil
        }
        return starts.min().map { Double(max(0, now - $0)) / 1000 } ?? 0
    }
}
