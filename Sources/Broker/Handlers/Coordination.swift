internal import Lifecycle
internal import Telemetry

/// Connects the coordinators, which decide, with the connections that ask and the logs that
/// remember: carries out what they want done, and tells them when it is.
final class Coordination {
    private let topics: TopicStore
    private let loop: EventLoop
    private let groups: GroupCoordinator
    private let transactions: TransactionCoordinator
    private let groupTopic: CoordinatorTopic
    private let transactionTopic: CoordinatorTopic
    private let tears: TransactionTears?
    /// Who waits for which answer. An exchange whose client is gone stays until the coordinator
    /// answers it, which it does for every token.
    private var exchanges: [ReplyToken: Exchange] = [:]
    private var tokens: UInt64 = 0
    private var markers: [MarkersID: MarkersUnderWay] = [:]
    private var timer: LoopTimer?
    private var nextTick = Instant.distantFuture
    /// The expiry clock, as the last upkeep read it.
    var expiryTime: WallTime
    private var now: Moment { Moment(steady: .now(), wall: .now(), expiry: expiryTime) }

    init(
        groupTopic: CoordinatorTopic, transactionTopic: CoordinatorTopic, topics: TopicStore, loop: EventLoop,
        expiryTime: WallTime, tears: TransactionTears? = nil
    ) {
        self.topics = topics
        self.tears = tears
        self.loop = loop
        self.groupTopic = groupTopic
        self.transactionTopic = transactionTopic
        let exists: (TopicPartition) -> Bool = { partition in
            topics.log(partition.topic, partition.partition) != nil
        }
        self.expiryTime = expiryTime
        let now = Moment(steady: .now(), wall: .now(), expiry: expiryTime)
        groups = GroupCoordinator(at: now, partitionExists: exists)
        transactions = TransactionCoordinator(at: now, partitionExists: exists)
    }

    /// Reads both logs back; then timeouts run, and what was decided before is carried out.
    func start(_ log: Log) throws(LogError) {
        try groupTopic.replay(log: log) { groups.restore($0) }
        try transactionTopic.replay(log: log) { transactions.restore($0) }
        timer = LoopTimer(on: loop) { [weak self] in self?.tick() }
        groups.begin(at: now)
        perform(transactions.begin(at: now))
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

    func handle(_ request: GroupRequest, _ exchange: Exchange) {
        perform(groups.handle(request, from: caller(exchange), at: now))
    }

    func handle(_ request: TransactionRequest, _ exchange: Exchange) {
        perform(transactions.handle(request, from: caller(exchange), at: now))
    }

    /// Offsets within a transaction concern both: one knows whether it is open, the other keeps them.
    func handle(_ request: TxnOffsetCommitRequest, _ exchange: Exchange) {
        let producer = TransactionCoordinator.Producer(
            of: request.transactionalID, producer: request.producerID, epoch: request.producerEpoch)
        if let error = transactions.refusal(of: producer, group: request.groupID) {
            let answer = PartitionErrors.all(request.topics, error)
            return exchange.answer { answer.write(to: &$0, throttled: true) }
        }
        handle(.transactionalCommit(request), exchange)
    }

    /// Offsets of a topic that is gone must not meet a new one of its name.
    func topicDeleted(_ name: String) {
        perform(groups.topicDeleted(name, at: now))
    }

    /// Nil when a transactional batch may be appended to the partition.
    func refusal(
        _ transactionalID: String?, producer id: Int64, epoch: Int16, _ partition: TopicPartition
    ) -> ErrorCode? {
        guard let transactionalID else { return .invalidTxnState }
        return transactions.refusal(of: .init(of: transactionalID, producer: id, epoch: epoch), partition)
    }

    private func caller(_ exchange: Exchange) -> Caller {
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
                    perform(error == nil ? groups.persisted(id, at: now) : groups.failed(id, at: now))
                }
            case .transactionEnded(let id, let durable):
                settle(id, error: !durable)
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
                            ? transactions.persisted(id, at: now) : transactions.failed(id, at: now))
                }
            case .writeMarkers(let id, let markers):
                write(markers, id)
            }
        }
        scheduleTick()
    }

    // MARK: Markers

    /// One place of a transaction's end each, partitions and groups; the last one tells the coordinator.
    private struct MarkersUnderWay {
        var left: Int
        var hasFailed = false
    }

    private func write(_ end: TransactionMarkers, _ id: MarkersID) {
        // One more than there are, so that nothing settles before everything has begun.
        markers[id] = MarkersUnderWay(left: end.partitions.count + 2)
        let time = WallTime.now()
        for partition in end.partitions {
            append(end, to: partition, at: time) { [unowned self] error in settle(id, error: error) }
        }
        perform(
            groups.endTransaction(
                id, producerID: end.producerID, commits: end.commits, groups: end.groups, at: now))
        settle(id, error: false)
    }

    private func append(
        _ end: TransactionMarkers, to partition: TopicPartition, at now: WallTime,
        done: @escaping (_ error: Bool) -> Void
    ) {
        // A partition that was deleted meanwhile needs no marker.
        guard let log = topics.log(partition.topic, partition.partition) else { return done(false) }
        let isTorn = tears?(partition.topic, partition.partition) ?? false
        do throws(LogError) {
            let appended = try log.appendMarker(
                producerID: end.producerID, epoch: end.epoch, commit: end.commits && !isTorn, now: now)
            log.whenDurable(appended.nextOffset) { done($0 != nil) }
        } catch {
            // Fenced: a newer epoch writes there already, so this transaction was ended before.
            if case .fencedProducer = error { return done(false) }
            done(true)
        }
    }

    private func settle(_ id: MarkersID, error: Bool) {
        guard var underWay = markers[id] else { return }
        underWay.left -= 1
        underWay.hasFailed = underWay.hasFailed || error
        markers[id] = underWay
        guard underWay.left == 0 else { return }
        markers[id] = nil
        perform(
            underWay.hasFailed
                ? transactions.markersFailed(id, at: now) : transactions.markersWritten(id, at: now))
    }

    // MARK: What an operator wants to know

    var oldestTransactionSeconds: Double {
        let now = WallTime.now().milliseconds
        let starts = transactions.transactions.values.compactMap { transaction in
            transaction.facts.state == .ongoing ? transaction.facts.startedAt?.milliseconds : nil
        }
        return starts.min().map { Double(max(0, now - $0)) / 1000 } ?? 0
    }
}
