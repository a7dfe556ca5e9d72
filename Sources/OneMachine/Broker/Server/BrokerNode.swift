internal import Lifecycle
internal import Telemetry

/// All state of a running broker, confined to one event loop. It needs no locks and must never wait for the
/// disk for long: syncs and compactions run on other threads, and `deliver` takes their results.
final class BrokerNode {
    let loop: EventLoop
    let settings: BrokerSettings
    let log: Log
    let metrics: BrokerMetrics
    let bufferBudget: BufferBudget
    let topics: TopicStore
    /// The node with the address that clients get.
    private(set) var identity: Node
    private(set) var coordinators: CoordinatorHost
    private(set) lazy var fetches = FetchHandler(node: self)
    /// The buffer in which every answer is encoded; see `Session.answer`.
    var scratch = WireWriter(capacity: 64 * 1024)
    private var expiryClock: ExpiryClock
    private let expiryClockFile: ExpiryClockFile
    private var expiryClockSavedAt: Instant
    /// Bytes of answers that the kernel has not taken yet, on all connections.
    var unsentBytes = 0
    private var sessions: [ObjectIdentifier: Session] = [:]
    /// Whether the broker begins no more requests.
    private(set) var isDraining = false
    /// The timers of deletions that a test delays, by topic.
    var delayedDeletions: [String: LoopTimer] = [:]

    /// Restores the coordinators from their topics. The store has recovered its logs already.
    init(
        loop: EventLoop, settings: BrokerSettings, identity: Node, topics: TopicStore, log: Log,
        metrics: Metrics
    ) throws {
        self.loop = loop
        self.settings = settings
        self.identity = identity
        self.topics = topics
        self.log = log
        self.metrics = BrokerMetrics(metrics: metrics)
        expiryClockFile = ExpiryClockFile(path: settings.dataDirectory + "/clock", disk: settings.disk)
        let savedClock = expiryClockFile.read()
        expiryClock = ExpiryClock(saved: savedClock, wall: settings.clock(), at: .now())
        expiryClockSavedAt = .now()
        bufferBudget = BufferBudget(bytesMax: settings.limits.bufferedBytesMax)
        coordinators = try CoordinatorHost(
            groupTopic: CoordinatorTopic(named: CoordinatorTopic.groups, in: topics),
            transactionTopic: CoordinatorTopic(named: CoordinatorTopic.transactions, in: topics),
            topics: topics, loop: loop, expiryTime: expiryClock.time, log: log,
            transactionAborts: settings.transactionAborts,
            refusesMarker: { settings.refusesMarker(for: $0, at: loop.now) })
        if savedClock?.isInDoubt == true, expiryClock.isInDoubt {
            logClockDoubt()
        } else if expiryClock.isInDoubt {
            log.info("the broker was away for more than a day; nothing expires by the clock for an hour")
        }
        try coordinators.start()
        for topic in topics.topics { addReaders(of: topic) }
    }

    // MARK: Connections

    func accept(_ connection: TCPConnection) -> Session {
        let session = Session(connection: connection, node: self)
        sessions[ObjectIdentifier(session)] = session
        metrics.connections.set(Double(sessions.count))
        return session
    }

    func remove(_ session: Session) {
        sessions[ObjectIdentifier(session)] = nil
        metrics.connections.set(Double(sessions.count))
    }

    // MARK: Topics

    /// Connects the logs of a new topic with the waiting fetches.
    func addReaders(of topic: Topic) {
        settings.clusterDelays?.topicWasCreated(topic.name, at: loop.now)
        for log in topic.partitions {
            log.onAdvance = { [unowned self, unowned log] in fetches.logDidAdvance(log) }
        }
        countPartitions()
    }

    /// Answers the waiting readers of a deleted topic.
    func removeLogs(_ logs: [PartitionLog]) {
        for log in logs {
            log.onAdvance = nil
            fetches.removeLog(log)
        }
        countPartitions()
    }

    private func countPartitions() {
        metrics.partitions.set(Double(topics.topics.reduce(0) { $0 + $1.partitions.count }))
    }

    // MARK: Time

    /// Does the work that is due from time to time. Called every half second.
    func upkeep() {
        readClocks()
        topics.upkeep(now: expiryClock.time)
        for session in Array(sessions.values) { session.sweep(now: loop.now) }
        metrics.oldestTransactionSeconds.set(coordinators.oldestTransactionSeconds)
        metrics.unsentBytes.set(Double(unsentBytes))
        metrics.setAsideFiles.set(Double(topics.setAsideFileCount))
        metrics.unmarkedTransactions.set(Double(coordinators.unmarkedTransactions))
        scratch.reset()
    }

    /// Takes the results of the disk's threads.
    func deliver() {
        topics.deliver(now: expiryClock.time)
    }

    /// Advances the expiry clock, and saves it once a minute and when it begins or ends to doubt.
    private func readClocks() {
        let steady = Instant.now()
        let wasInDoubt = expiryClock.isInDoubt
        expiryClock.observe(wall: settings.clock(), at: steady)
        coordinators.expiryTime = expiryClock.time
        metrics.clockLeadSeconds.set(Double(expiryClock.leadMilliseconds) / 1000)
        if expiryClock.isInDoubt && !wasInDoubt { logClockDoubt() }
        let isSaveDue =
            steady.milliseconds(since: expiryClockSavedAt) >= ExpiryClockFile.saveIntervalMilliseconds
        if isSaveDue || expiryClock.isInDoubt != wasInDoubt {
            expiryClockSavedAt = steady
            expiryClockFile.save(expiryClock)
        }
    }

    private func logClockDoubt() {
        log.error(
            "the clock of this machine jumped ahead; nothing expires by it for an hour: check the clock",
            .field("seconds", Int(expiryClock.leadMilliseconds / 1000)))
    }

    // MARK: Start and end

    /// Sets the address for clients, which is known after the bind.
    func setAddress(host: String, port: UInt16) {
        identity.host = host
        identity.port = port
    }

    /// Begins no more requests from here on. Answers still leave.
    func drain() { isDraining = true }

    /// Whether a client waits for the disk.
    var hasPendingAppends: Bool { sessions.values.contains { $0.hasPendingAppends } }

    func closeConnections() {
        for timer in delayedDeletions.values { timer.cancel() }
        delayedDeletions = [:]
        for session in Array(sessions.values) { session.close() }
        coordinators.stop()
    }

    func close() {
        expiryClockFile.save(expiryClock)
        deliver()
        do throws(TopicStoreError) {
            try topics.close()
        } catch {
            log.error("did not close cleanly; the next start recovers", .field("error", error.description))
        }
    }
}
