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
/// In a step it polls the queues of Kafka's library that have something new, runs the plan, and carries out its
/// actions. It waits for an answer of the cluster only while lanes come or go.
final class SenderLoop: IterationHook {
    /// Name of the consumer group, after the prefix of the topics.
    static let group = "sender"
    /// Longest time between two polls of the member. The lease can be this old.
    private static let pollMilliseconds = 250
    /// Interval of `reportState`.
    private static let reportMilliseconds = 1_000

    /// Number of the loop in the process.
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
    /// The markers up to which `receipts` reads lanes.
    var markers = TakeoverMarkers()
    /// The connections to APNs; nil after the end.
    var client: APNsClient?
    let receiver = OutcomeReceiver()

    /// Access is unchecked because only one thread uses it, and calls from the plan do not come back to it.
    @safe @exclusivity(unchecked) var plan: DeliveryPlan
    /// Actions without content. They are exchanged with the plan's, so that neither allocates memory again.
    private var spareActions = DeliveryActions()

    // MARK: Steps

    private var isStepScheduled = false
    var timer: LoopTimer?
    /// Signals of the queues of jobs, receipts and superseded versions, and of the producer; nil before `begin`.
    var wakeups: WakeupSignals?
    private var nextPoll = Instant(nanoseconds: 0)
    private var nextReport = Instant(nanoseconds: 0)

    // MARK: Stop

    /// Deadline of the stop; nil unless one was asked for.
    var stopBy: Instant?
    /// The callback for the end of the stop; nil after the call.
    var whenStopped: (() -> Void)?
    /// Whether the loop has failed or was stopped. Then it does nothing any more.
    var hasEnded = false

    // MARK: Requests

    /// The request that was made last. Most sheets of a send come in succession and share it.
    var lastTemplate: CachedPushTemplate?
    /// Buffer for the token of the current push.
    @safe @exclusivity(unchecked) var tokenBytes: [UInt8] = []
    /// Apps for which requests were made, with their keys.
    var usedProfiles: Set<PushProfile> = []

    // MARK: Reading of jobs

    var batch = RecordBatch(
        recordsMax: 200, bytesMax: SenderSettings.batchBytesMax, countsHeaders: true)
    /// The jobs topics by their names in the cluster.
    let topics: [String: JobTopic]
    /// Numbers of commits that have no answer yet. Answers come in order.
    var unansweredCommits = FIFOQueue<Int>()

    // MARK: The group's offer

    /// Offered partitions whose committed offsets are not known yet; nil without such an offer.
    var offeredPartitions: [TopicPartition]?
    /// The query for their offsets, while it is under way.
    var offsetsQuery: OffsetQueryID?
    var nextOffsetsQuery = Instant(nanoseconds: 0)

    // MARK: Seeks

    /// Offsets to which the consumer has to seek, by partition.
    var seekOffsets: [TopicPartition: Int64] = [:]
    /// Partitions that are resumed as soon as the consumer has sought them.
    var partitionsToResume: Set<TopicPartition> = []
    var nextSeek = Instant(nanoseconds: 0)

    // MARK: Offsets out of range

    /// Partitions that began without a committed offset.
    var partitionsWithoutOffset: Set<TopicPartition> = []
    /// Partitions whose offset is out of range, until their watermarks are known.
    var partitionsOutOfRange = AwaitedWatermarks()
    /// Partitions that cannot be read, as text.
    var unreadablePartitions: [String] = []

    // MARK: Records and time

    /// Ids of records that Kafka refused.
    var refusedRecords: [UInt64] = []
    var nextRefusedRetry = Instant(nanoseconds: 0)
    /// Whether Kafka has stored a record of ours since the start. From then on only its acknowledgements tell the
    /// cluster's time (`SenderClock`).
    var hasStoredRecord = false
    /// Whether the log has a warning that this machine's clock is wrong.
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
        let (log, processMetrics) = (context.log, context.metrics)
        let groupOptions = settings.options(
            environment.membership(
                of: SenderService.name, loop: number, in: Self.group, reading: JobTopic.subscription))
        consumer = try Consumer(
            settings: kafka, options: groupOptions, name: "sender-jobs-\(number)", log: log,
            metrics: processMetrics)
        receipts = ReceiptsReader(
            try environment.cluster.makeReader(
                of: layout.name(of: .receipts), outOfRange: .earliest, log: log, metrics: processMetrics),
            log: log)
        superseded = SupersededReader(
            try environment.cluster.makeReader(
                of: layout.name(of: .superseded), outOfRange: .earliest, log: log, metrics: processMetrics))
        writer = try SenderWriter(layout, metrics: metrics) {
            try Producer(settings: kafka, name: "sender-\(number)", log: log, metrics: processMetrics)
        }
        client = APNsClient(provider: provider, on: loop, receiver: receiver)
        // Neither reference is weak, because a weak reference makes every other reference to the object
        // slower. `LoopOwned` keeps this object until the thread has ended, and only the thread uses the references.
        timer = LoopTimer(on: loop) { [unowned self] in requestStep() }
        receiver.sender = self
    }

    /// Deregisters the timer and the signals. Nothing runs after that.
    func deregister() {
        timer?.cancel()
        for signal in wakeups?.all ?? [] { signal.deregister(from: loop) }
    }

    /// Starts the work of the loop. This and all later calls are made on the thread of the loop.
    func begin() throws {
        let wakeups = WakeupSignals(of: self)
        self.wakeups = wakeups
        do {
            for signal in wakeups.all { try signal.register(on: loop) }
        } catch {
            // The signals that are registered must not outlive this object.
            deregister()
            throw error
        }
        requestStep()
    }

    // MARK: Steps

    /// Asks for a step at the end of the loop's iteration.
    func requestStep() {
        guard !isStepScheduled else { return }
        isStepScheduled = true
        loop.callAtEndOfIteration(self)
    }

    var time: CurrentTime { shared.time(at: loop.now) }

    func iterationWillEnd() {
        isStepScheduled = false
        guard !hasEnded else { return }
        let startTime = Instant.now()
        do {
            try pollQueues()
        } catch {
            return end(with: error)
        }
        metrics.batchSeconds.observe(Instant.now().seconds(since: startTime))
        setTimer()
    }

    /// Passes the events of Kafka's queues to the plan, and runs the plan.
    private func pollQueues() throws {
        guard let wakeups else { return }
        let time = time
        // All queues are also polled at intervals: a member that does not poll leaves the group, and the polls do some
        // work after a pause, such as retries.
        let pollsAll = time.now >= nextPoll
        if pollsAll { nextPoll = time.now.advanced(byMilliseconds: Self.pollMilliseconds) }
        let isSupersededRaised = wakeups.superseded.take()
        if isSupersededRaised || pollsAll { try pollSuperseded(wakeups.superseded, at: time) }
        let areJobsRaised = wakeups.jobs.take()
        if areJobsRaised || pollsAll { try pollJobs() }
        // A seek that has failed is tried again after a pause.
        seek()
        let areReceiptsRaised = wakeups.receipts.take()
        if areReceiptsRaised || pollsAll { try pollReceipts(wakeups.receipts, at: time) }
        let areDeliveriesRaised = wakeups.deliveries.take()
        if areDeliveriesRaised || pollsAll { try reportDeliveries() }
        try runStep()
        if time.now >= nextReport {
            nextReport = time.now.advanced(byMilliseconds: Self.reportMilliseconds)
            reportState()
        }
    }

    /// Passes the records of `superseded` to the plan. Raises the signal if there may be more.
    private func pollSuperseded(_ signal: WakeupSignal, at time: CurrentTime) throws {
        let hasMore = try superseded.poll { record in
            switch record {
            case .versions(let versions): plan.superseded(versions, at: time)
            case .erasure(let erasure, let erasedAt):
                plan.erased(erasure, erasedAt: erasedAt, at: time)
            }
        }
        if hasMore { signal.raise() }
        if superseded.isComplete { plan.supersededIsRead() }
    }

    /// Passes the receipts and markers of lanes that are taken over to the plan. Raises the signal if there may be
    /// more.
    private func pollReceipts(_ signal: WakeupSignal, at time: CurrentTime) throws {
        let hasMore = try receipts.poll(
            receipt: { plan.receiptWasRead($0, lane: $1) },
            marker: { plan.takeoverMarkerWasRead($0, lane: $1, at: $2) },
            end: { plan.receiptReadEnded(lane: $0, until: $1, at: time) })
        if hasMore { signal.raise() }
    }

    /// Runs the plan and carries out its actions.
    func runStep() throws {
        plan.leased(until: leaseEnd)
        plan.step(at: time) { sheet, connections in availability(of: sheet, over: connections) }
        try carryOut()
    }

    /// The time until which the group assigns our partitions to no other process; 0 if the assignment is uncertain.
    private var leaseEnd: Instant {
        guard consumer.isAssignmentCertain(at: loop.now) else { return Instant(nanoseconds: 0) }
        return consumer.lastPolledAt.advanced(
            byMilliseconds: settings.sessionMilliseconds - Consumer.sessionMarginMilliseconds)
    }

    /// Polls the queue of jobs in the next step.
    func expectMoreJobs() { wakeups?.jobs.raise() }

    /// Sets the timer for the next step.
    func setTimer() {
        var next = nextPoll
        if let due = plan.nextStep() {
            let inOneMillisecond = loop.now.advanced(byMilliseconds: 1)
            next = min(next, max(due, inOneMillisecond))
        }
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
        if actions.mustWithdrawPushes { for profile in usedProfiles { client?.withdrawAll(of: profile) } }
        for token in actions.deadTokens { report(token) }
        for token in actions.provenTokens { report(token) }
        for read in actions.receiptReads {
            receipts.read(lane: read.lane, from: read.from)
            markers.request(inLane: read.lane)
        }
        if !actions.receiptReads.isEmpty { writeMarkers() }
        if !actions.pauses.isEmpty { pause(actions.pauses) }
        if !actions.resumes.isEmpty { resume(actions.resumes) }
        for event in actions.events { report(event) }
        commit(actions)
        if actions.isReleased {
            forgetSeeks()
            try giveBackPartitions()
        }
    }
}
