internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The scheduler's thread. It reads orders as a group member and commits their timers in one transaction with
/// the offsets. It fires due timers, each in one transaction with its tombstone.
///
/// The loop runs in iterations. Each iteration ends with a committed batch. Otherwise the batch is read again
/// from the committed offsets, after the views are read to their ends. A transaction that fires timers also
/// commits the unchanged offsets, to prove that the partition is still assigned to this process.
final class SchedulerLoop: StageLoop {
    static let group = "scheduler"
    /// The version of the layout of the views' files. Files with another version are rebuilt.
    static let viewSchema = 1
    /// The longest wait for orders if no timer is due. It limits the delay of a stop.
    static let idleMilliseconds: Int32 = 250
    /// The wait before something is tried again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// The size of the orders that are prefetched. In memory, small records take several times as much.
    static let prefetchKibibytesMax = 8192
    /// The longest time that a full overlay delays reading. A group member must poll regularly.
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
    /// The partitions whose end was asked for, with the time of the question in milliseconds since 1970.
    var endsAsked: [Int32: (question: QuestionID, time: Int64)] = [:]
    /// The longest wait of this iteration for orders.
    var firesIn: Int32 = 0
    var nextUpkeep = Instant.now()
    /// The next confirmation of the views. After a start they were just read to their ends, and asking again
    /// would delay the first orders.
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

    /// Writes the second row that the view stores for each row: its entry in due order.
    @Sendable
    private static func writeDue(_ key: Span<UInt8>, _ row: Span<UInt8>, to due: inout DerivedRow) -> Bool {
        guard let entry = DueEntry(of: key, row) else { return false }
        due.key = entry.stored
        return true
    }

    /// Runs until it is asked to stop or cannot continue.
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
            // Records that arrived with a change of the assignment belong to the old assignment.
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

    /// The wait for orders. While a view is restored, the loop waits for the view's records and not here.
    private var waitMilliseconds: Int32 {
        if views.isOpening { return 0 }
        if member.mustStartOver || views.blockage != nil { return Self.troubleMilliseconds }
        return member.isRestoring ? 0 : firesIn
    }

    /// Waits while the overlay is full.
    private func makeRoom() throws {
        let until = Instant.now().advanced(byMilliseconds: Self.fullMilliseconds)
        while isFull, isSettled, !state.mustStop, Instant.now() < until {
            try readViews(waitMilliseconds: Self.troubleMilliseconds)
        }
    }

    private var isFull: Bool {
        views.overlayRows > settings.overlayRowsMax || views.overlayBytes > settings.overlayBytesMax
    }

    /// Leaves the group and closes the views. Everything that was read is committed or will be read again.
    private func finish() throws {
        batch.clear()
        try member.leave()
        try views.finish()
    }
}
