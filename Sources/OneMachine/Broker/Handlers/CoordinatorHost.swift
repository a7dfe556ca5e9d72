internal import Lifecycle
internal import Telemetry

/// The link between the coordinators, which decide, and the connections and logs. It carries out the
/// coordinators' actions and reports the results to them.
final class CoordinatorHost {
    private let topics: TopicStore
    private let loop: EventLoop
    private let groups: GroupCoordinator
    private let transactions: TransactionCoordinator
    private let groupTopic: CoordinatorTopic
    private let transactionTopic: CoordinatorTopic
    private let transactionAborts: TransactionAborts?
    /// The open request of each token. It stays until the coordinator answers, even if its client is
    /// gone; the coordinator answers every token.
    private var exchanges: [ReplyToken: RequestExchange] = [:]
    private var tokens: UInt64 = 0
    private var markers: [MarkersID: PendingMarkers] = [:]
    private var timer: LoopTimer?
    private var nextTick = Instant.distantFuture
    private let log: Log
    private var nextAlarm = Instant.now()
    private static let alarmMilliseconds = 60_000
    /// The time of the expiry clock at the last upkeep.
    var expiryTime: WallTime
    private var now: ClockReading { ClockReading(steady: .now(), wall: .now(), expiry: expiryTime) }

    init(
        groupTopic: CoordinatorTopic, transactionTopic: CoordinatorTopic, topics: TopicStore, loop: EventLoop,
        expiryTime: WallTime, log: Log, transactionAborts: TransactionAborts? = nil
    ) {
        self.topics = topics
        self.transactionAborts = transactionAborts
        self.loop = loop
        self.groupTopic = groupTopic
        self.transactionTopic = transactionTopic
        let exists: (TopicPartition) -> Bool = { partition in
            topics.log(topic: partition.topic, partition: partition.partition) != nil
        }
        self.expiryTime = expiryTime
        self.log = log
        let now = ClockReading(steady: .now(), wall: .now(), expiry: expiryTime)
        groups = GroupCoordinator(at: now, partitionExists: exists)
        transactions = TransactionCoordinator(at: now, partitionExists: exists)
    }

    /// Restores both coordinators from their topics, starts their timeouts, and completes decided
    /// transactions.
    func start() throws(LogError) {
        try groupTopic.replay(log: log) { groups.restore($0) }
        try transactionTopic.replay(log: log) { transactions.restore($0) }
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

    /// Handles offsets within a transaction, which concern both coordinators: one knows whether the
    /// transaction is open, the other keeps the offsets.
    func handle(_ request: TxnOffsetCommitRequest, for exchange: RequestExchange) {
        let producer = TransactionCoordinator.Producer(
            of: request.transactionalID, producer: request.producerID, epoch: request.producerEpoch)
        if let error = transactions.refusal(of: producer, group: request.groupID) {
            let answer = PartitionErrors.all(request.topics, error: error)
            return exchange.answer { answer.write(to: &$0, throttled: true) }
        }
        handle(.transactionalCommit(request), for: exchange)
    }

    /// Forgets the offsets of a deleted topic, which mean nothing to a new topic of that name.
    func removeOffsets(ofTopic name: String) {
        perform(groups.removeOffsets(ofTopic: name, at: now))
    }

    /// Returns nil if a transactional batch may be appended to the partition.
    func refusal(
        transactionalID: String?, producer id: Int64, epoch: Int16, partition: TopicPartition
    ) -> ErrorCode? {
        guard let transactionalID else { return .invalidTxnState }
        return transactions.refusal(
            of: .init(of: transactionalID, producer: id, epoch: epoch), partition: partition)
    }

    private func caller(of exchange: RequestExchange) -> Caller {
        tokens += 1
        let token = ReplyToken(tokens)
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
                groupTopic.persist(records) { [unowned self] error in
                    perform(
                        error == nil ? groups.appendSucceeded(id, at: now) : groups.appendFailed(id, at: now))
                }
            case .transactionEnded(let id, let durable):
                settleMarker(of: id) { if !durable { $0.remaining.groups = $0.groups } }
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
                transactionTopic.persist(records) { [unowned self] error in
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

    /// The end of one transaction in its partitions and groups. After the last result, the coordinator is
    /// informed.
    private struct PendingMarkers {
        /// Number of results that are still missing.
        var open: Int
        let groups: [String]
        var remaining = RemainingMarkers()
    }

    private func writeMarkers(_ end: TransactionMarkers, id: MarkersID) {
        // One more than there are results, so that the end is not reached before all parts have begun.
        markers[id] = PendingMarkers(open: end.partitions.count + 2, groups: end.groups)
        let time = WallTime.now()
        for partition in end.partitions {
            appendMarker(end, to: partition, at: time) { [unowned self] error in
                settleMarker(of: id) { if error { $0.remaining.partitions.append(partition) } }
            }
        }
        perform(
            groups.endTransaction(
                markers: id, producerID: end.producerID, commits: end.commits, groups: end.groups, at: now))
        settleMarker(of: id) { _ in }
    }

    private func appendMarker(
        _ end: TransactionMarkers, to partition: TopicPartition, at now: WallTime,
        done: @escaping (_ error: Bool) -> Void
    ) {
        // A partition that was deleted in the meantime needs no marker.
        guard let log = topics.log(topic: partition.topic, partition: partition.partition) else {
            return done(false)
        }
        let isTorn = transactionAborts?(partition.topic, partition.partition) ?? false
        do throws(LogError) {
            let appended = try log.appendMarker(
                producerID: end.producerID, epoch: end.epoch, commit: end.commits && !isTorn, now: now)
            log.whenDurable(upTo: appended.nextOffset) { done($0 != nil) }
        } catch {
            // A newer epoch writes there already, so this transaction was ended before.
            if case .fencedProducer = error { return done(false) }
            done(true)
        }
    }

    private func settleMarker(of id: MarkersID, update note: (inout PendingMarkers) -> Void) {
        guard var underWay = markers[id] else { return }
        underWay.open -= 1
        note(&underWay)
        markers[id] = underWay
        guard underWay.open == 0 else { return }
        markers[id] = nil
        guard !underWay.remaining.isEmpty else { return perform(transactions.markersWritten(id, at: now)) }
        logUnmarked(underWay.remaining)
        perform(transactions.markersFailed(id, remaining: underWay.remaining, at: now))
    }

    /// Logs once a minute that a marker cannot be written. If that lasts, a person must act.
    private func logUnmarked(_ left: RemainingMarkers) {
        let steady = Instant.now()
        guard steady >= nextAlarm else { return }
        nextAlarm = steady.advanced(byMilliseconds: Self.alarmMilliseconds)
        let place = left.partitions.first.map { "\($0.topic)-\($0.partition)" } ?? left.groups.first ?? ""
        log.error(
            "a transaction cannot be ended everywhere, its readers wait; look at the disk and at errors of that log",
            .field("at", place), .field("partitions", left.partitions.count),
            .field("groups", left.groups.count))
    }

    // MARK: What an operator wants to know

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
