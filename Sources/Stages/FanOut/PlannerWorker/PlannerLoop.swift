internal import Catalog
internal import Glibc
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The planner's thread. It reads sends as a group member, plans them, and commits the results in one
/// transaction with the offsets. It keeps the views of `groups`.
///
/// The loop runs in iterations. Each iteration ends with a committed batch. Otherwise the batch is read again
/// from the committed offsets, after the views are read to their ends. This is the only repair. It serves for
/// an unknown outcome of a transaction, a lost producer, a damaged view, and a changed assignment.
///
/// A batch holds the sends that have arrived, so a single send is planned at once. Under load the loop waits
/// for more sends (`Gathering`).
final class PlannerLoop: StageLoop {
    static let group = "planner"
    /// The version of the layout of the views' files. Files with another version are rebuilt.
    static let viewSchema = 1
    /// The longest wait for sends if there is no other work. It limits the delay of a stop.
    static let idleMilliseconds: Int32 = 250
    /// The longest wait while sends are held, because they must go at their times.
    static let heldMilliseconds: Int32 = 100
    /// The wait before something is tried again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// The longest time that a full overlay or too many held sends delay reading. A group member must poll
    /// regularly.
    static let fullMilliseconds = 10_000

    let settings: FanOutSettings
    let layout: TopicLayout
    let state: LoopState
    let log: Log
    let metrics: PlannerMetrics
    let wall: () -> WallTime
    let onStep: (PlannerStep) -> Void

    let consumer: Consumer
    let member: GroupMember<PlannedPartition>
    let views: TopicViews
    let writer: PlainWriter
    let notes: NoteWriter
    let transaction: StageTransaction
    let planner: Planner
    let apps: KnownApps
    let reader = JSONReader()
    let lanes: Lanes

    var batch: RecordBatch
    var output: PlanOutput
    var bound: TransactionBound
    var held = HeldSends()
    var clock: ClusterClock
    var walk = GroupWalk()
    private var gathering = Gathering()
    var nextUpkeep = Instant.now()
    /// The next confirmation of the views. After a start they were just read to their ends, and asking again
    /// would delay the first sends.
    var nextAsOf = Instant.now().advanced(byMilliseconds: asOfMilliseconds)

    init(
        _ settings: FanOutSettings, in environment: StageEnvironment, state: LoopState, log: Log,
        metrics: Metrics, clock wall: @escaping () -> WallTime, settleMilliseconds: Int,
        onStep: @escaping (PlannerStep) -> Void
    ) throws {
        self.wall = wall
        clock = ClusterClock(now: .now(), settleMilliseconds: settleMilliseconds)
        self.settings = settings
        self.state = state
        self.log = log
        self.onStep = onStep
        self.metrics = PlannerMetrics(metrics)
        let layout = environment.layout
        self.layout = layout
        let lanes = Lanes(count: layout.lanes)
        self.lanes = lanes
        planner = Planner(lanes: layout.lanes) { app, recipient in lanes.lane(of: recipient, app: app) }
        apps = KnownApps { environment.catalog?.apps }
        batch = RecordBatch(recordsMax: settings.batchSendsMax, bytesMax: settings.batchBytesMax)
        output = PlanOutput(lanes: lanes)
        bound = TransactionBound(recordsMax: settings.batchSendsMax)
        let kafka = environment.cluster.settings
        let identity = environment.identity(of: FanOutService.name, loop: FanOutService.Loop.planner.rawValue)
        let topics = PlannedTopic.allCases.map(\.name)
        var options = ConsumerOptions(
            .group(layout.prefix + Self.group, instanceID: identity, topics: topics.map(layout.name)))
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.prefetchKibibytesMax = settings.prefetchKibibytesMax
        options.partitionKibibytesMax = settings.partitionKibibytesMax
        consumer = try Consumer(kafka, options, name: "planner-sends", log: log, metrics: metrics)
        views = try TopicViews(
            TopicViewForm(topic: layout.name(.groups), table: "groups", schema: Self.viewSchema),
            directory: environment.stateDirectory(of: FanOutService.name), limits: settings.viewLimits,
            kafka: kafka, name: "planner-groups", log: log, metrics: metrics,
            numbers: self.metrics.views)
        writer = PlainWriter(kafka, layout, name: "planner-plain", log: log, metrics: metrics)
        notes = try NoteWriter(kafka, layout, log: log, metrics: metrics)
        transaction = StageTransaction(
            topics: PlanOutput.Target.allCases.map { layout.name($0.topic) }, log: log
        ) {
            try TransactionalProducer(
                kafka, transactionalID: identity, name: "planner-transactions", log: log, metrics: metrics)
        }
        member = GroupMember(
            consumer, layout: layout, topics: topics, transaction: transaction, log: log,
            startedOver: self.metrics.shared.startedOver, restoreSeconds: self.metrics.restoreSeconds)
        member.owner = self
        views.owner = self
        if let obstacle = try transaction.prepare(withinMilliseconds: StageTransaction.startMilliseconds) {
            throw StageFailure.client(obstacle)
        }
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
        let gatheringLeft = gathering.millisecondsLeft(at: .now())
        if gatheringLeft > 0 { usleep(UInt32(gatheringLeft * 1000)) }
        let began = Instant.now()
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        clock.tick(machine: wall().milliseconds, at: .now())
        for event in events { try member.hear(event) }
        if !batch.isEmpty {
            // Records that arrived with a change of the assignment belong to the old assignment.
            if !member.mustStartOver { try plan(epoch: consumer.epoch) }
        }
        let now = Instant.now()
        gathering.took(batch.count, from: began, to: now)
        batch.clear()
        if isSettled {
            try releaseHeld(now)
            try walkOn(now)
        }
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            try upkeep(now)
        }
    }

    var isSettled: Bool { !member.mustStartOver && views.blockage == nil }

    /// The wait for sends. While a view is restored, the loop waits for the view's records and not here.
    private var waitMilliseconds: Int32 {
        if views.isOpening { return 0 }
        if member.mustStartOver || views.blockage != nil { return Self.troubleMilliseconds }
        if member.isRestoring || walk.isUrgent { return 0 }
        return held.count == 0 ? Self.idleMilliseconds : Self.heldMilliseconds
    }

    /// Waits while the overlay is full or too many sends are held.
    private func makeRoom() throws {
        let until = Instant.now().advanced(byMilliseconds: Self.fullMilliseconds)
        while isFull, isSettled, !state.mustStop, Instant.now() < until {
            try readViews(waitMilliseconds: Self.troubleMilliseconds)
            try releaseHeld(.now())
        }
    }

    private var isFull: Bool {
        held.isFull || views.overlayRows > settings.overlayRowsMax
            || views.overlayBytes > settings.overlayBytesMax
    }

    /// Leaves the group and closes the views. Everything that was read is committed or will be read again.
    private func finish() throws {
        batch.clear()
        notes.finish()
        try member.leave()
        try views.finish()
    }
}
