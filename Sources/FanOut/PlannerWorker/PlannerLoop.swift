internal import Catalog
internal import Glibc
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// The planner's one thread: reads sends as a member of the group, plans them, commits what they become in one
/// transaction with the offsets, and keeps the views of `groups`.
///
/// Everything it does falls into turns, and a turn leaves nothing half done: a batch is committed, or it is read
/// again from the committed offsets with the views read anew to their ends. That is the one way in which
/// anything is repaired here: a transaction of unknown outcome, a producer that is lost, a view that is damaged,
/// partitions that come and go.
///
/// A batch is what is there, so that a single send is planned at once; under load it waits for company (`Gathering`).
final class PlannerLoop: StageLoop {
    static let group = "planner"
    /// Another number is another layout of the views' files; then they are rebuilt.
    static let viewSchema = 1
    /// How long a turn waits for sends when there is nothing else to do; the limit of a stop's delay.
    static let idleMilliseconds: Int32 = 250
    /// The same while sends are held, which go at their times.
    static let heldMilliseconds: Int32 = 100
    /// How long a turn waits when something has to be tried again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// How long a full overlay, or too many held sends, hold up sends at a time; a member must poll now and then.
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
    /// Views that were just read to their ends are of now; to ask for each anew holds up the first sends.
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
        let gatheringLeft = gathering.millisecondsLeft(at: .now())
        if gatheringLeft > 0 { usleep(UInt32(gatheringLeft * 1000)) }
        let began = Instant.now()
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        clock.tick(machine: wall().milliseconds, at: .now())
        for event in events { try member.hear(event) }
        if !batch.isEmpty {
            // What came along with a change of the assignment belongs to an assignment that is over.
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

    /// What restores a view waits there, not here.
    private var waitMilliseconds: Int32 {
        if views.isOpening { return 0 }
        if member.mustStartOver || views.blockage != nil { return Self.troubleMilliseconds }
        if member.isRestoring || walk.isUrgent { return 0 }
        return held.count == 0 ? Self.idleMilliseconds : Self.heldMilliseconds
    }

    /// With a full overlay, or too many sends that wait, it takes no more until there is room.
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

    /// The end in order: what was read is committed, so there is nothing to finish.
    private func finish() throws {
        batch.clear()
        notes.finish()
        try member.leave()
        try views.finish()
    }
}
