internal import APNs
internal import Containers
internal import Cryptography
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import TokenSealing
internal import Topics

/// The sender of one event loop. It owns the consumer that is a member of the group, the readers of `receipts` and
/// `superseded`, the producer and the connections to APNs. It reports events to the plan and carries out the plan's
/// actions. All runs on the thread of the loop: no push crosses a thread.
///
/// It calls the cluster and waits for the answer only while lanes come or go.
final class SenderLoop: IterationHook {
    static let group = "sender"
    /// Longest time between two polls of the member. The lease can be this old.
    private static let pollMilliseconds = 250
    private static let reportMilliseconds = 1_000
    /// Interval of retries for records that Kafka refused.
    private static let refusedRetryMilliseconds = 1_000
    /// Limit of the last writes at the end.
    private static let flushMilliseconds = 1_000
    /// Time for pushes in flight to end before the lanes are given back.
    static let drainMilliseconds = 10_000

    let number: Int
    let settings: SenderSettings
    let environment: StageEnvironment
    let layout: TopicLayout
    let loop: EventLoop
    let shared: SharedSenderState
    let context: ServiceContext
    let log: Log
    let metrics: SenderMetrics
    let seal: TokenSeal
    let consumer: Consumer
    let receipts: ReceiptsReader
    let superseded: SupersededReader
    let writer: SenderWriter
    /// The connections to APNs; nil after the end.
    var client: APNsClient?
    private let receiver = OutcomeReceiver()

    /// Access is unchecked because only one thread uses it, and calls from the plan do not come back to it.
    @safe @exclusivity(unchecked) var plan: DeliveryPlan
    /// Actions without content. It takes turns with the plan's, so that neither allocates memory again.
    private var spareActions = DeliveryActions()

    // MARK: Turns

    private var isTurnScheduled = false
    private var timer: LoopTimer?
    /// Signals of the queues of jobs, receipts and superseded versions, and of the producer.
    private var wakeups: WakeupSignals?
    private var nextPoll = Instant(nanoseconds: 0)
    private var nextReport = Instant(nanoseconds: 0)
    /// Whether the loop has failed or was stopped. Then it does nothing any more.
    private var hasEnded = false
    /// Deadline of a stop, and the callback for its end.
    private var stopBy: Instant?
    private var whenStopped: (() -> Void)?

    // MARK: Requests

    /// The request of the sheet that was begun last. Most sheets of a send come in succession.
    var lastTemplate: CachedPushTemplate?
    /// Buffer for the current token.
    @safe @exclusivity(unchecked) var tokenBytes: [UInt8] = []
    /// Apps for which requests were made.
    var usedProfiles: Set<PushProfile> = []

    // MARK: Reading of jobs

    var batch = RecordBatch(
        recordsMax: 200, bytesMax: SenderSettings.batchBytesMax, countsHeaders: true)
    /// The jobs topics by their names in the cluster.
    let topics: [String: JobTopic]
    /// Offered partitions whose committed offsets are not known yet.
    var offeredPartitions: [TopicPartition]?
    /// The query for their offsets.
    var offsetsQuery: OffsetQueryID?
    var nextOffsetsQuery = Instant(nanoseconds: 0)
    /// Numbers of commits that have no answer yet. Answers come in order.
    var unansweredCommits = FIFOQueue<Int>()
    /// Offsets to which the consumer has to seek, by partition.
    var seekOffsets: [TopicPartition: Int64] = [:]
    /// Partitions that are resumed as soon as the consumer has sought them.
    var partitionsToResume: Set<TopicPartition> = []
    var nextSeek = Instant(nanoseconds: 0)
    /// Partitions that began without a committed offset.
    var partitionsWithoutOffset: Set<TopicPartition> = []
    /// Partitions whose offset is out of range, by the query for their ends.
    var partitionsOutOfRange: [OffsetQueryID: TopicPartition] = [:]
    /// Partitions that cannot be read, as text.
    var unreadablePartitions: [String] = []

    // MARK: Records and time

    /// Records that Kafka refused.
    private var refused: [UInt64] = []
    private var nextRefusedRetry = Instant(nanoseconds: 0)
    /// Whether a record was stored since the start. Then the stamps of read records no longer matter for the
    /// time.
    var hasStoredRecord = false
    var isClockWrong = false

    init(
        _ number: Int, _ settings: SenderSettings, in environment: StageEnvironment, provider: APNsProvider,
        on loop: EventLoop, shared: SharedSenderState, context: ServiceContext
    ) throws {
        (self.number, self.settings, self.environment) = (number, settings, environment)
        (self.loop, self.shared, self.context) = (loop, shared, context)
        log = context.log
        layout = environment.layout
        metrics = SenderMetrics(context.metrics)
        seal = TokenSeal(keys: environment.sealingKeys)
        plan = DeliveryPlan(settings.limitsOfLoop, seed: .random(in: .min ... .max))
        let layout = layout
        topics = Dictionary(uniqueKeysWithValues: JobTopic.allCases.map { (layout.name(of: $0.topic), $0) })
        let kafka = environment.cluster.settings
        let (log, registry) = (context.log, context.metrics)
        let groupOptions = settings.options(
            .group(
                layout.prefix + Self.group,
                instanceID: environment.identity(of: SenderService.name, loop: number),
                topics: JobTopic.allCases.map { layout.name(of: $0.topic) }))
        consumer = try Consumer(
            settings: kafka, options: groupOptions, name: "sender-jobs-\(number)", log: log, metrics: registry
        )
        let readerOptions = ConsumerOptions(membership: .manual)
        receipts = ReceiptsReader(
            try Consumer(
                settings: kafka, options: readerOptions, name: "sender-receipts-\(number)", log: log,
                metrics: registry),
            topic: layout.name(of: .receipts), log: log)
        var supersededOptions = readerOptions
        supersededOptions.outOfRange = .earliest
        superseded = try SupersededReader(
            Consumer(
                settings: kafka, options: supersededOptions, name: "sender-superseded-\(number)", log: log,
                metrics: registry),
            topic: layout.name(of: .superseded))
        writer = try SenderWriter(layout, metrics: metrics) {
            try Producer(settings: kafka, name: "sender-\(number)", log: log, metrics: registry)
        }
        client = APNsClient(provider: provider, on: loop, receiver: receiver)
        // Neither reference is weak, because a weak reference makes every other reference to the object
        // slower.
        timer = LoopTimer(on: loop) { [unowned self] in requestTurn() }
        receiver.sender = self
    }

    /// Deregisters the timer and the signals. Nothing runs after that.
    func deregister() {
        timer?.cancel()
        for signal in wakeups?.all ?? [] { signal.deregister(from: loop) }
    }

    /// Begins to work. This and all later calls are made on the thread of the loop.
    func begin() throws {
        let wakeups = WakeupSignals(of: self)
        for signal in wakeups.all { try signal.register(on: loop) }
        self.wakeups = wakeups
        requestTurn()
    }

    // MARK: Turns

    /// Asks for a turn at the end of the loop's iteration.
    func requestTurn() {
        guard !isTurnScheduled else { return }
        isTurnScheduled = true
        loop.callAtEndOfIteration(self)
    }

    var time: CurrentTime { shared.time(at: loop.now) }

    func iterationWillEnd() {
        isTurnScheduled = false
        guard !hasEnded else { return }
        let startTime = Instant.now()
        do {
            try pollQueues()
        } catch {
            hasEnded = true
            context.fail(with: error)
            whenStopped?()
            whenStopped = nil
            return
        }
        metrics.batchSeconds.observe(Instant.now().seconds(since: startTime))
        setTimer()
    }

    /// Passes the events of Kafka's queues to the plan, and runs it.
    private func pollQueues() throws {
        guard let wakeups else { return }
        let time = time
        // All queues are polled at intervals: a member that does not poll leaves the group, and some queues
        // wait for a time.
        let pollsAll = time.now >= nextPoll
        if pollsAll { nextPoll = time.now.advanced(byMilliseconds: Self.pollMilliseconds) }
        if wakeups.superseded.take() || pollsAll {
            if try superseded.poll({ plan.superseded($0, at: time) }) { wakeups.superseded.raise() }
            if superseded.isComplete { plan.supersededIsRead() }
        }
        if wakeups.jobs.take() || pollsAll { try pollJobs() }
        seek()
        if wakeups.receipts.take() || pollsAll {
            let hasMore = try receipts.poll(
                at: time.now, { plan.receiptWasRead($0, lane: $1) },
                end: { plan.receiptsWereRead(lane: $0, until: $1, at: time) })
            if hasMore { wakeups.receipts.raise() }
        }
        if wakeups.deliveries.take() || pollsAll { try collect() }
        try turn()
        if time.now >= nextReport {
            nextReport = time.now.advanced(byMilliseconds: Self.reportMilliseconds)
            reportState()
        }
    }

    /// Runs the plan and carries out its actions.
    func turn() throws {
        plan.leased(until: leaseEnd)
        plan.turn(at: time) { sheet, isSuspect in availability(of: sheet, isSuspect: isSuspect) }
        try carryOut()
    }

    /// The time until which the group assigns our partitions to no other process; a time in the past if the assignment
    /// is uncertain.
    private var leaseEnd: Instant {
        guard consumer.isAssignmentCertain(at: loop.now) else { return Instant(nanoseconds: 0) }
        return consumer.lastPolledAt.advanced(
            byMilliseconds: settings.sessionMilliseconds - Consumer.sessionMarginMilliseconds)
    }

    /// Polls the queue of jobs in the next turn.
    func expectMoreJobs() { wakeups?.jobs.raise() }

    /// Sets the timer for the next turn.
    func setTimer() {
        var next = nextPoll
        if let due = plan.nextTurn() { next = min(next, max(due, loop.now.advanced(byMilliseconds: 1))) }
        timer?.schedule(at: next)
    }

    // MARK: Actions

    private func carryOut() throws {
        while plan.actions.hasAny {
            swap(&spareActions, &plan.actions)
            try carryOut(spareActions)
            spareActions.removeAll()
        }
    }

    private func carryOut(_ actions: DeliveryActions) throws {
        for (id, write) in actions.writes { writer.write(write, id: id) }
        push(actions.pushes)
        if !actions.pushes.isEmpty { metrics.count(actions.pushes, at: time.unixMilliseconds) }
        if !actions.withdrawals.isEmpty { for profile in usedProfiles { client?.withdrawAll(of: profile) } }
        for token in actions.deadTokens { report(token) }
        for token in actions.provenTokens { report(token) }
        for read in actions.reads { receipts.read(lane: read.lane, from: read.from) }
        if !actions.reads.isEmpty { wakeups?.receipts.raise() }
        if !actions.pauses.isEmpty { pause(actions.pauses) }
        if !actions.resumes.isEmpty { resume(actions.resumes) }
        for event in actions.events { report(event) }
        commit(actions)
        if actions.isReleased {
            forgetSeeks()
            try giveBackPartitions()
        }
    }

    // MARK: Records

    /// Reports to the plan which records are stored.
    private func collect() throws {
        var time = time
        writer.reportDeliveries(
            stamped: {
                shared.stored($0, at: loop.now)
                hasStoredRecord = true
                time = self.time
            },
            stored: { plan.stored($0, offset: $1, at: time) },
            failed: { plan.writeFailed($0) })
        let newlyRefused = writer.takeRefused()
        if !newlyRefused.isEmpty {
            log.error(
                "kafka refuses records, and their jobs wait: check the topic's max.message.bytes and the access rights",
                .field("records", newlyRefused.count))
            refused += newlyRefused
        }
        if !refused.isEmpty, time.now >= nextRefusedRetry {
            nextRefusedRetry = time.now.advanced(byMilliseconds: Self.refusedRetryMilliseconds)
            for id in refused { plan.writeFailed(id) }
            refused = []
        }
        if writer.hasFailed {
            log.warning("the producer failed; the sender makes a new one")
            try replaceProducer()
        }
    }

    private func replaceProducer() throws {
        wakeups?.deliveries.deregister(from: loop)
        try writer.replaceProducer()
        wakeups?.deliveries = WakeupSignal(of: writer.descriptor, for: self)
        try wakeups?.deliveries.register(on: loop)
        plan.allWritesFailed()
    }

    // MARK: The end

    /// Gives the lanes back in order, then leaves the group and closes the connections.
    func stop(by deadline: Instant, _ done: @escaping () -> Void) {
        whenStopped = done
        stopBy = deadline
        guard !hasEnded else {
            whenStopped = nil
            return done()
        }
        if plan.lanesInHand == 0 {
            finish()
        } else {
            plan.revoked(
                by: min(deadline, loop.now.advanced(byMilliseconds: Self.drainMilliseconds)), at: time)
            requestTurn()
        }
    }

    var isStopping: Bool { stopBy != nil }

    /// Closes everything. The lanes were given back.
    func finish() {
        guard !hasEnded, let done = whenStopped else { return }
        whenStopped = nil
        hasEnded = true
        timer?.cancel()
        for signal in wakeups?.all ?? [] { signal.deregister(from: loop) }
        batch.clear()
        writer.flush(withinMilliseconds: Self.flushMilliseconds)
        if !consumer.close() {
            log.warning("the sender could not leave the group in time; the group notices after one session")
        }
        receipts.close()
        superseded.close()
        receiver.sender = nil
        shared.setReadinessProblems(["stopped"], ofLoop: number)
        lastTemplate = nil
        client?.stop(by: stopBy) { done() }
        client = nil
    }
}

/// The receiver of the outcomes of pushes. The client holds it weakly.
private final class OutcomeReceiver: PushReceiver {
    unowned(safe) var sender: SenderLoop?

    func receive(_ outcomes: PushOutcomes) { sender?.handleOutcomes(outcomes) }
}
