internal import APNs
internal import Catalog
internal import Containers
internal import Cryptography
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Telemetry
internal import Topics

/// The sender of one event loop. It owns the group member, the readers of `receipts` and `superseded`, the
/// producer and the connections to APNs. It reports events to the plan and carries out the plan's actions. No
/// push crosses a thread.
///
/// It calls the cluster and waits for the answer only while lanes come or go.
final class SenderLoop: IterationHook {
    static let group = "sender"
    /// Longest time between two polls of the member. The lease can be this old.
    private static let pollMilliseconds = 250
    private static let upkeepMilliseconds = 1_000
    /// Interval of tries for records that Kafka refused.
    private static let refusedMilliseconds = 1_000

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
    var client: APNsClient?
    /// Access is unchecked because only one thread uses it, and calls from the plan do not come back to it.
    @safe @exclusivity(unchecked) var plan: DeliveryPlan
    var batch = RecordBatch(
        recordsMax: 200, bytesMax: SenderSettings.batchBytesMax, countsHeaders: true)
    /// The jobs topics by their names in the cluster.
    let topics: [String: JobTopic]
    /// The request of the sheet that was begun last. Most sheets of a send come in succession.
    var lastTemplate: CachedPushTemplate?
    /// Buffer for the current token.
    @safe @exclusivity(unchecked) var tokenBytes: [UInt8] = []
    /// Apps for which requests were made.
    var profiles: Set<PushProfile> = []
    /// Offered lanes whose offsets the cluster has not returned yet.
    var offered: [TopicPartition]?
    /// Numbers of commits that have no answer yet. Answers come in order.
    var commitsOut = FIFOQueue<Int>()
    var nextOffer = Instant(nanoseconds: 0)
    /// Offsets from which partitions continue.
    var toSeek: [TopicPartition: Int64] = [:]
    /// Partitions that are resumed as soon as the consumer has sought them.
    var toResume: Set<TopicPartition> = []
    var nextSeek = Instant(nanoseconds: 0)
    /// Whether a record was stored since the start. Then the stamps of read records no longer matter for the
    /// time.
    var knowsTime = false
    private var isClockWrong = false
    /// Partitions that cannot be read, as text.
    var unreadable: [String] = []
    /// The question for the offsets of an offer.
    var offsetsQuestion: OffsetQueryID?
    /// Partitions that began without a committed offset.
    var withoutOffset: Set<TopicPartition> = []
    /// Partitions whose offset is out of range, by the question for their ends.
    var gaps: [OffsetQueryID: TopicPartition] = [:]
    private let receiver = OutcomeReceiver()
    /// Signals of the queues of jobs, receipts and superseded versions, and of the producer.
    private var wakeups: WakeupSignals?
    private var nextPoll = Instant(nanoseconds: 0)
    private var lentActions = DeliveryActions()
    private var timer: LoopTimer?
    private var isHooked = false
    private var nextUpkeep = Instant(nanoseconds: 0)
    private var refused: [UInt64] = []
    private var nextRefused = Instant(nanoseconds: 0)
    /// Deadline of a stop, and the callback for its end.
    private var stopBy: Instant?
    private var whenStopped: (() -> Void)?
    private var hasFailed = false

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
        let (log, all) = (context.log, context.metrics)
        let member = settings.options(
            .group(
                layout.prefix + Self.group,
                instanceID: environment.identity(of: SenderService.name, loop: number),
                topics: JobTopic.allCases.map { layout.name(of: $0.topic) }))
        consumer = try Consumer(
            settings: kafka, options: member, name: "sender-jobs-\(number)", log: log, metrics: all)
        let manual = ConsumerOptions(membership: .manual)
        receipts = ReceiptsReader(
            try Consumer(
                settings: kafka, options: manual, name: "sender-receipts-\(number)", log: log, metrics: all),
            topic: layout.name(of: .receipts), log: log)
        var state = manual
        state.outOfRange = .earliest
        superseded = try SupersededReader(
            Consumer(
                settings: kafka, options: state, name: "sender-superseded-\(number)", log: log, metrics: all),
            topic: layout.name(of: .superseded))
        writer = try SenderWriter(layout, metrics: metrics) {
            try Producer(settings: kafka, name: "sender-\(number)", log: log, metrics: all)
        }
        client = APNsClient(provider: provider, on: loop, receiver: receiver)
        // Neither reference is weak, because a weak reference makes every other reference to the object
        // slower.
        timer = LoopTimer(on: loop) { [unowned self] in hook() }
        receiver.sender = self
    }

    /// Deregisters the timer and the signals. Nothing runs after that.
    func end() {
        timer?.cancel()
        for signal in wakeups?.all ?? [] { signal.deregister(from: loop) }
    }

    /// Begins to serve. It runs on the loop, as everything after it does.
    func begin() throws {
        let wakeups = WakeupSignals(of: self)
        for signal in wakeups.all { try signal.register(on: loop) }
        self.wakeups = wakeups
        hook()
    }

    // MARK: Turns

    func hook() {
        guard !isHooked else { return }
        isHooked = true
        loop.callAtEndOfIteration(self)
    }

    var time: CurrentTime { shared.time(at: loop.now) }

    func iterationWillEnd() {
        isHooked = false
        guard !hasFailed else { return }
        let began = Instant.now()
        do {
            try serve()
        } catch {
            hasFailed = true
            context.fail(with: error)
            whenStopped?()
            whenStopped = nil
            return
        }
        metrics.batchSeconds.observe(Instant.now().seconds(since: began))
        schedule()
    }

    private func serve() throws {
        guard let wakeups else { return }
        let time = time
        // All queues are polled at intervals: a member that does not poll leaves the group, and some queues
        // wait for a time.
        let asksAll = time.now >= nextPoll
        if asksAll { nextPoll = time.now.advanced(byMilliseconds: Self.pollMilliseconds) }
        if wakeups.superseded.take() || asksAll {
            if try superseded.poll({ plan.superseded($0, at: time) }) { wakeups.superseded.raise() }
            if superseded.isComplete { plan.supersededIsRead() }
        }
        if wakeups.jobs.take() || asksAll { try poll() }
        seek()
        if wakeups.receipts.take() || asksAll {
            let hasMore = try receipts.poll(
                at: time.now, { plan.found($0, lane: $1) },
                end: { plan.foundAll(lane: $0, end: $1, at: time) })
            if hasMore { wakeups.receipts.raise() }
        }
        if wakeups.deliveries.take() || asksAll { try collect() }
        try turn()
        if time.now >= nextUpkeep {
            nextUpkeep = time.now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            upkeep()
        }
    }

    /// Runs the plan and carries out its actions.
    func turn() throws {
        plan.leased(
            until: consumer.isAssignmentCertain(at: loop.now)
                ? consumer.lastPolledAt.advanced(
                    byMilliseconds: settings.sessionMilliseconds - Consumer.leaseMarginMilliseconds)
                : Instant(nanoseconds: 0))
        plan.turn(at: time) { sheet, isSuspect in availability(of: sheet, isSuspect: isSuspect) }
        try carryOut()
    }

    func expectMoreJobs() { wakeups?.jobs.raise() }

    func schedule() {
        var next = nextPoll
        if let due = plan.nextTurn() { next = min(next, max(due, loop.now.advanced(byMilliseconds: 1))) }
        timer?.schedule(at: next)
    }

    // MARK: Orders

    private func carryOut() throws {
        while plan.actions.hasAny {
            // The two values alternate, so that neither allocates memory again.
            swap(&lentActions, &plan.actions)
            try carryOut(lentActions)
            lentActions.removeAll()
        }
    }

    private func carryOut(_ actions: DeliveryActions) throws {
        for (id, write) in actions.writes { writer.write(write, id: id) }
        push(actions.pushes)
        if !actions.pushes.isEmpty { metrics.count(actions.pushes, at: time.unixMilliseconds) }
        if !actions.withdrawals.isEmpty { for profile in profiles { client?.withdrawAll(of: profile) } }
        for token in actions.deadTokens { report(token) }
        for read in actions.reads { receipts.read(lane: read.lane, from: read.from) }
        if !actions.reads.isEmpty { wakeups?.receipts.raise() }
        if !actions.pauses.isEmpty { pause(actions.pauses) }
        if !actions.resumes.isEmpty { resume(actions.resumes) }
        for event in actions.events { report(event) }
        commit(actions)
        if actions.isReleased {
            forgetSeeks()
            try released()
        }
    }

    /// Reports an event to the log and the metrics.
    private func report(_ event: DeliveryActions.Event) {
        switch event {
        case .breakerOpened(let name, let reason):
            metrics.breaker(of: name.app, environment: name.environment.rawValue).set(1)
            log.error(
                "apns refuses an app's pushes; its pushes are paused and no token is dropped: correct the setting",
                .field("app", name.app), .field("environment", name.environment.rawValue),
                .field("reason", reason), .field("setting", Self.setting(for: reason)))
        case .breakerClosed(let name):
            metrics.breaker(of: name.app, environment: name.environment.rawValue).set(0)
            log.info(
                "apns accepts an app's pushes again", .field("app", name.app),
                .field("environment", name.environment.rawValue))
        case .settling(let lane, let milliseconds):
            log.info(
                "the last pushes of an earlier sender may still be in flight; its jobs wait",
                .field("lane", lane),
                .field("milliseconds", milliseconds))
        case .opened: break
        case .drainedLate(let lane):
            log.warning(
                "a lane is given back before all its pushes have ended; the next owner waits for them",
                .field("lane", lane))
        }
    }

    /// Returns the setting to correct, in an operator's words.
    private static func setting(for reason: String) -> String {
        switch reason {
        case "BadDeviceToken": "the app's environment: production does not know sandbox tokens"
        case "DeviceTokenNotForTopic", "BadTopic", "TopicDisallowed": "the app's bundle id"
        case "no_provider_key": "the key file of the app's team and key id, under sender.keys"
        case "ExpiredProviderToken": "the clocks of the cluster and of this machine"
        default: "the app's team id, key id and key file"
        }
    }

    // MARK: Records

    private func collect() throws {
        var time = time
        writer.collect(
            stamped: {
                shared.stored($0, at: loop.now)
                knowsTime = true
                time = self.time
            },
            stored: { plan.stored($0, offset: $1, at: time) },
            failed: { plan.writeFailed($0) })
        let fresh = writer.takeRefused()
        if !fresh.isEmpty {
            log.error(
                "kafka refuses records, and their jobs wait: check the topic's max.message.bytes and the access rights",
                .field("records", fresh.count))
            refused += fresh
        }
        if !refused.isEmpty, time.now >= nextRefused {
            nextRefused = time.now.advanced(byMilliseconds: Self.refusedMilliseconds)
            for id in refused { plan.writeFailed(id) }
            refused = []
        }
        if writer.isRuined {
            log.warning("the producer failed; the sender makes a new one")
            try loopRebuild()
        }
    }

    private func loopRebuild() throws {
        wakeups?.deliveries.deregister(from: loop)
        try writer.rebuild()
        wakeups?.deliveries = WakeupSignal(of: writer.descriptor, for: self)
        try wakeups?.deliveries.register(on: loop)
        plan.allWritesFailed()
    }

    private func upkeep() {
        metrics.inFlight.set(Double(plan.permitsTaken))
        metrics.sheets.set(Double(plan.sheetsInHand))
        metrics.bytes.set(Double(plan.bytesInHand))
        metrics.suspectTokens.set(Double(plan.suspectTokens))
        let oldest = plan.oldestAcceptedAt.map { Double(max(0, time.unixMilliseconds - $0)) / 1000 }
        metrics.oldestSeconds.set(oldest ?? 0)
        if knowsTime { reportClock() }
        var obstacles = plan.readinessProblems + unreadable
        if offered != nil { obstacles.append("the sender waits for the group's offsets") }
        shared.set(obstacles, of: number)
        plan.hasSeveralApps = true
        guard let catalog = environment.catalog else { return }
        plan.hasSeveralApps = Self.isShared(catalog)
        for app in catalog.apps.values { metrics.breakersExist(of: app) }
    }

    /// Difference in milliseconds from which a warning is written. A machine with correct time differs less.
    private static let wrongMilliseconds: Int64 = 60_000

    private func reportClock() {
        let ahead = WallTime.now().milliseconds - time.unixMilliseconds
        metrics.clockAhead.set(Double(ahead) / 1000)
        guard (abs(ahead) >= Self.wrongMilliseconds) != isClockWrong else { return }
        isClockWrong.toggle()
        if isClockWrong {
            log.warning(
                "this machine's clock and the cluster's differ; jobs and provider tokens use the cluster's",
                .field("milliseconds_ahead", ahead))
        } else {
            log.info("this machine's clock and the cluster's agree again")
        }
    }

    /// Whether several apps or environments share the lanes. Pushes of each environment wait for APNs
    /// separately.
    private static func isShared(_ catalog: CatalogSnapshot) -> Bool {
        catalog.apps.count > 1 || catalog.apps.values.contains { $0.environments.count > 1 }
    }

    // MARK: The end

    /// Gives the lanes back in order, then leaves the group and closes the connections.
    func stop(by deadline: Instant, _ done: @escaping () -> Void) {
        whenStopped = done
        stopBy = deadline
        guard !hasFailed else {
            whenStopped = nil
            return done()
        }
        if plan.lanesInHand == 0 {
            finish()
        } else {
            plan.revoked(
                by: min(deadline, loop.now.advanced(byMilliseconds: Self.drainMilliseconds)), at: time)
            hook()
        }
    }

    static let drainMilliseconds = 10_000
    var isStopping: Bool { stopBy != nil }

    func finish() {
        guard !hasFailed, let done = whenStopped else { return }
        whenStopped = nil
        hasFailed = true
        timer?.cancel()
        for signal in wakeups?.all ?? [] { signal.deregister(from: loop) }
        batch.clear()
        writer.flush(withinMilliseconds: 1_000)
        if !consumer.close() {
            log.warning("the sender could not leave the group in time; the group notices after one session")
        }
        receipts.close()
        superseded.close()
        receiver.sender = nil
        shared.set(["stopped"], of: number)
        lastTemplate = nil
        client?.stop(by: stopBy) { done() }
        client = nil
    }
}

/// The receiver of the client's outcomes. The client holds it weakly.
private final class OutcomeReceiver: PushReceiver {
    unowned(safe) var sender: SenderLoop?

    func receive(_ outcomes: PushOutcomes) { sender?.ended(outcomes) }
}

extension DeliveryActions {
    var hasAny: Bool {
        !pushes.isEmpty || !withdrawals.isEmpty || !writes.isEmpty || !deadTokens.isEmpty || !reads.isEmpty
            || !pauses.isEmpty || !resumes.isEmpty || !commits.isEmpty || isLastCommit || isReleased
            || !events.isEmpty
    }
}
