internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// The scheduler's one thread: reads orders as a member of the group, commits the timers that they make in one
/// transaction with the offsets, and fires the timers that are due, each in one transaction with its tombstone.
///
/// Everything it does falls into turns, and a turn leaves nothing half done: a batch is committed, or it is read
/// again from the committed offsets with the views read anew to their ends. A timer that fires is committed with
/// the offsets, too: they stay where they are, and show that the partition is still ours.
final class SchedulerLoop: StageLoop {
    static let group = "scheduler"
    /// Another number is another layout of the views' files; then they are rebuilt.
    static let viewSchema = 1
    /// How long a turn waits for orders when no timer is due; the limit of a stop's delay.
    static let idleMilliseconds: Int32 = 250
    /// How long a turn waits when something has to be tried again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// Orders that are read ahead; in memory small records are several times as much.
    static let prefetchKibibytesMax = 8192
    /// How long a full overlay holds up orders at a time; a member must poll now and then.
    static let fullMilliseconds = 10_000

    let settings: SchedulerSettings
    let layout: TopicLayout
    let state: LoopState
    let log: Log
    let metrics: SchedulerMetrics
    let onStep: (SchedulerStep) -> Void
    let wall: () -> WallTime

    let consumer: Consumer
    let member: GroupMember<ScheduledPartition>
    let views: TopicViews
    let writer: PlainWriter
    let transaction: StageTransaction
    let desk = OrderDesk()
    let reader = JSONReader()
    let lanes: Lanes

    var batch: RecordBatch
    var output: TimerOutput
    var bound: TransactionBound
    var clock: FiringClock
    var budget: FiringBudget
    var nextQuestion = Instant.now()
    /// Partitions whose ends are asked for, with the time before the question, in milliseconds since 1970.
    var endsAsked: [Int32: (question: QuestionID, time: Int64)] = [:]
    /// How long this turn may wait for orders.
    var firesIn: Int32 = 0
    var nextUpkeep = Instant.now()
    /// Views that were just read to their ends are of now; to ask for each anew holds up the first orders.
    var nextAsOf = Instant.now().advanced(byMilliseconds: asOfMilliseconds)

    init(
        _ settings: SchedulerSettings, in environment: StageEnvironment,
        clock wall: @escaping () -> WallTime, state: LoopState, log: Log, metrics: Metrics,
        onStep: @escaping (SchedulerStep) -> Void
    ) throws {
        self.settings = settings
        self.state = state
        self.log = log
        self.onStep = onStep
        self.wall = wall
        self.metrics = SchedulerMetrics(metrics)
        let layout = environment.layout
        self.layout = layout
        let lanes = Lanes(count: layout.lanes)
        self.lanes = lanes
        batch = RecordBatch(recordsMax: settings.batchOrdersMax, bytesMax: settings.batchBytesMax)
        output = TimerOutput(lanes: lanes, repliesPartitions: layout.partitions(.replies))
        bound = TransactionBound(recordsMax: settings.batchOrdersMax)
        clock = FiringClock(holdMilliseconds: settings.holdMilliseconds)
        budget = FiringBudget(perSecond: settings.firesPerSecond)
        let kafka = environment.cluster.settings
        let identity = environment.identity(of: SchedulerService.name)
        let topics = ScheduledTopic.allCases.map(\.name)
        var options = ConsumerOptions(
            .group(layout.prefix + Self.group, instanceID: identity, topics: topics.map(layout.name)))
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.prefetchKibibytesMax = Self.prefetchKibibytesMax
        consumer = try Consumer(kafka, options, name: "scheduler-orders", log: log, metrics: metrics)
        var form = TopicViewForm(topic: layout.name(.timers), table: "timers", schema: Self.viewSchema)
        form.derive = Self.writeDue
        views = try TopicViews(
            form, directory: environment.stateDirectory(of: SchedulerService.name),
            limits: settings.viewLimits, kafka: kafka, name: "scheduler-timers", log: log, metrics: metrics,
            numbers: self.metrics.views)
        writer = PlainWriter(kafka, layout, name: "scheduler-plain", log: log, metrics: metrics)
        transaction = StageTransaction(
            topics: TimerOutput.Target.allCases.map { layout.name($0.topic) }, log: log
        ) {
            try TransactionalProducer(
                kafka, transactionalID: identity, name: "scheduler-transactions", log: log, metrics: metrics)
        }
        member = GroupMember(
            consumer, layout: layout, topics: topics, transaction: transaction, log: log,
            startedOver: self.metrics.startedOver, restoreSeconds: self.metrics.restoreSeconds)
        member.owner = self
        views.owner = self
        if let obstacle = try transaction.prepare(withinMilliseconds: StageTransaction.startMilliseconds) {
            throw StageFailure.client(obstacle)
        }
    }

    /// What the view keeps beside each row: its entry in due order.
    @Sendable
    private static func writeDue(_ key: Span<UInt8>, _ row: Span<UInt8>, to due: inout DerivedRow) -> Bool {
        guard let entry = DueEntry(of: key, row) else { return false }
        due.key = entry.stored
        return true
    }

    /// Runs until it is told to stop, or cannot go on.
    func run() throws {
        defer { state.setObstacles(["stopped"]) }
        while !state.mustStop { try turn() }
        try finish()
    }

    private func turn() throws {
        try readViews(
            waitMilliseconds: member.isRestoring && !member.mustStartOver ? Self.troubleMilliseconds : 0)
        try makeRoom()
        try member.startOver()
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for event in events { try member.hear(event) }
        if !batch.isEmpty {
            // What came along with a change of the assignment belongs to an assignment that is over.
            if !member.mustStartOver { try decide(epoch: consumer.epoch) }
            batch.clear()
        }
        let now = Instant.now()
        tick(now)
        firesIn = Self.idleMilliseconds
        if isSettled { try fire(now) }
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            try upkeep(now)
        }
    }

    private func tick(_ now: Instant) {
        guard clock.tick(wall: wall().milliseconds, at: now) else { return }
        metrics.jumps.add()
        log.warning(
            "this machine's clock has jumped; no timer fires for a while",
            .field("milliseconds", settings.holdMilliseconds))
    }

    var isSettled: Bool { !member.mustStartOver && views.blockage == nil }

    /// What restores a view waits there, not here.
    private var waitMilliseconds: Int32 {
        if views.isOpening { return 0 }
        if member.mustStartOver || views.blockage != nil { return Self.troubleMilliseconds }
        return member.isRestoring ? 0 : firesIn
    }

    /// With a full overlay it takes no more until there is room.
    private func makeRoom() throws {
        let until = Instant.now().advanced(byMilliseconds: Self.fullMilliseconds)
        while isFull, isSettled, !state.mustStop, Instant.now() < until {
            try readViews(waitMilliseconds: Self.troubleMilliseconds)
        }
    }

    private var isFull: Bool {
        views.overlayRows > settings.overlayRowsMax || views.overlayBytes > settings.overlayBytesMax
    }

    /// The end in order: what was read is committed, so there is nothing to finish.
    private func finish() throws {
        batch.clear()
        try member.leave()
        try views.finish()
    }
}
