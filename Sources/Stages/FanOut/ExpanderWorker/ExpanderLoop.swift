internal import Catalog
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The expander's thread. It owns lanes as a group member and keeps their registry and their rows of
/// `starts`. It turns their expansions into jobs. A transaction holds one page of every lane with work.
///
/// The loop runs in iterations. Each iteration ends with a committed transaction. Otherwise everything is
/// read again from the committed offsets, after the views are read to their ends. This is the only repair. It
/// serves for an unknown outcome of a transaction, a lost producer, a damaged view, and a changed assignment.
final class ExpanderLoop: StageLoop {
    static let group = "expander"
    /// The longest wait if there is no work at all. It limits the delay of a stop.
    static let idleMilliseconds: Int32 = 250
    /// The wait for expansions after `starts` or the registry has records. Registry news wait for as long, so
    /// that one transaction takes all of them.
    static let gatherMilliseconds: Int32 = 100
    /// The longest wait during a walk through `starts`, which reads a page in each iteration.
    static let walkingMilliseconds: Int32 = 50
    /// The wait before something is tried again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000

    let settings: FanOutSettings
    let layout: TopicLayout
    let state: LoopState
    let log: Log
    let metrics: ExpanderMetrics
    let clock: () -> WallTime
    let onStep: (ExpanderStep) -> Void

    let consumer: Consumer
    let member: GroupMember<OwnedLane>
    let starts: TopicViews
    let registry: RegistryLanes
    let writer: PlainWriter
    let transaction: StageTransaction
    let reader = JSONReader(limits: Expansion.limits)
    let lanes: Lanes
    private let readCatalog: () -> KnownCatalog?

    var batch = RecordBatch(recordsMax: 4000, bytesMax: 16 << 20)
    var page = TokenPage()
    var news = LaneNews()
    let requests = DecodedRecords<ExpansionRequest>()
    let scopes = DecodedRecords<LaneScope>()
    var pageSize: PageSize
    var nextUpkeep = Instant.now()
    /// The time of the next transaction that only commits registry offsets. News without output can wait.
    var nextRegistryCommit = Instant.now()
    /// The next confirmation of the views. After a start they were just read to their ends, and asking again
    /// would delay the first expansions.
    var nextAsOf = Instant.now().advanced(byMilliseconds: asOfMilliseconds)
    /// The number of the iteration. It selects the first lane of a transaction, so that no lane is always
    /// last.
    var turn = 0
    /// The time that the current transaction has spent on reading `starts` while it waited.
    var startsSeconds = 0.0
    /// Whether the previous transaction was for urgent requests.
    var wasUrgent = false
    /// The start and the number of requests of the last urgent transaction.
    var lastUrgent: (began: Instant, requests: Int)?
    var startsWalk = StartsWalk()
    var time: ClusterClock
    /// The newest question for young records.
    var youngRecords: QuestionID?
    /// The time of the next question whether this machine's clock is ahead.
    var nextQuestion = Instant.now()

    init(
        _ settings: FanOutSettings, in environment: StageEnvironment, state: LoopState, log: Log,
        metrics: Metrics, clock: @escaping () -> WallTime, settleMilliseconds: Int,
        onStep: @escaping (ExpanderStep) -> Void
    ) throws {
        time = ClusterClock(now: .now(), settleMilliseconds: settleMilliseconds)
        self.settings = settings
        self.state = state
        self.log = log
        self.clock = clock
        self.onStep = onStep
        self.metrics = ExpanderMetrics(metrics)
        let layout = environment.layout
        self.layout = layout
        lanes = Lanes(count: layout.lanes)
        readCatalog = { environment.catalog }
        pageSize = PageSize(
            rowsAtStart: settings.pageRowsAtStart, millisecondsMax: settings.pageMilliseconds)
        let kafka = environment.cluster.settings
        let identity = environment.identity(
            of: FanOutService.name, loop: FanOutService.Loop.expander.rawValue)
        let directory = environment.stateDirectory(of: FanOutService.name)
        let topics = ExpandedTopic.allCases.map(\.name)
        var options = ConsumerOptions(
            .group(layout.prefix + Self.group, instanceID: identity, topics: topics.map(layout.name)))
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.prefetchKibibytesMax = settings.prefetchKibibytesMax
        options.partitionKibibytesMax = settings.laneKibibytesMax
        consumer = try Consumer(kafka, options, name: "expander-expansions", log: log, metrics: metrics)
        writer = PlainWriter(kafka, layout, name: "expander-plain", log: log, metrics: metrics)
        var form = TopicViewForm(
            topic: layout.name(.starts), table: "starts", schema: StartsTable.viewSchema)
        form.derive = NewestStart.write
        form.order = StartsOrder.self
        starts = try TopicViews(
            form, directory: directory, limits: settings.viewLimits, kafka: kafka, name: "expander-starts",
            log: log, metrics: metrics, numbers: self.metrics.views)
        registry = try RegistryLanes(
            topic: layout.name(.registry), directory: directory, limits: settings.viewLimits, kafka: kafka,
            log: log, metrics: metrics)
        transaction = StageTransaction(topics: Place.allCases.map { layout.name($0.topic) }, log: log) {
            var options = ProducerOptions()
            // A full sheet is mostly names and tokens without repetition. On sheets, lz4 saved a twentieth of
            // the bytes for a quarter of the total cost of a large send. If each job is a record, the body
            // repeats and compression helps.
            if settings.jobsPerSheet > 1 {
                options.compressionOfTopics[layout.name(.jobs)] = ProducerOptions.Compression.none
            }
            return try TransactionalProducer(
                kafka, options, transactionalID: identity, name: "expander-transactions", log: log,
                metrics: metrics)
        }
        member = GroupMember(
            consumer, layout: layout, topics: topics, followed: [.registry], transaction: transaction,
            log: log,
            startedOver: self.metrics.shared.startedOver, restoreSeconds: self.metrics.restoreSeconds)
        member.owner = self
        starts.owner = self
        if let obstacle = try transaction.prepare(withinMilliseconds: StageTransaction.startMilliseconds) {
            throw StageFailure.client(obstacle)
        }
    }

    /// The topics of a transaction, in the order of writing.
    enum Place: Int, CaseIterable {
        case jobsUrgent
        case jobs
        case starts
        case progress
        case expansionsUrgent
        case expansions
        case sendsTimed

        var topic: TopicName {
            switch self {
            case .jobsUrgent: .jobsUrgent
            case .jobs: .jobs
            case .starts: .starts
            case .progress: .progress
            case .expansionsUrgent: .expansionsUrgent
            case .expansions: .expansions
            case .sendsTimed: .sendsTimed
            }
        }
    }

    /// Runs until it is asked to stop or cannot continue.
    func run() throws {
        defer { state.setObstacles(["stopped"]) }
        while !state.mustStop { try runOneTurn() }
        try finish()
    }

    private func runOneTurn() throws {
        let isWaiting = isFull || (member.isRestoring && !member.mustStartOver)
        try readViews(waitMilliseconds: isWaiting ? Self.troubleMilliseconds : 0)
        try member.startOver()
        let events = consumer.poll(into: &batch, waitMilliseconds: isIdle ? rest() : waitMilliseconds)
        time.tick(machine: clock().milliseconds, at: .now())
        for event in events {
            hearYoungRecords(event)
            try member.hear(event)
        }
        if !batch.isEmpty {
            // Records that arrived with a change of the assignment belong to the old assignment.
            if !member.mustStartOver { queueRequests() }
            batch.clear()
        }
        if isSettled { try work() }
        let now = Instant.now()
        if isSettled { try walkOn(now) }
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            try upkeep(now)
        }
    }

    var isSettled: Bool { !member.mustStartOver && starts.blockage == nil && registry.blockage == nil }

    /// The catalog. Nil until it is known.
    var catalog: KnownCatalog? { readCatalog() }

    /// The wait for expansions. While a view is restored, the loop waits for the view's records and not here.
    private var waitMilliseconds: Int32 {
        if starts.isOpening || hasWork || registry.hasMore { return 0 }
        if !isSettled { return Self.troubleMilliseconds }
        return member.isRestoring ? 0 : Self.walkingMilliseconds
    }

    private var isIdle: Bool {
        isSettled && !starts.isOpening && !hasWork && !registry.hasMore && !member.isRestoring
            && !startsWalk.isUnderWay
    }

    /// Waits until one of the three consumers has records.
    ///
    /// - Returns: the time for which the loop then waits for expansions.
    private func rest() -> Int32 {
        let hasCome = Consumer.wait(
            forAnyOf: [consumer.descriptor, starts.descriptor, registry.descriptor],
            milliseconds: Self.idleMilliseconds)
        return hasCome ? Self.gatherMilliseconds : 0
    }

    private var hasWork: Bool {
        isSettled
            && member.owned.values.contains { $0.isServing && !$0.queues.isEmpty }
    }

    /// Whether the overlay is full. Then pages wait until the views have caught up. Urgent requests continue,
    /// because they are small.
    var isFull: Bool {
        starts.overlayRows > settings.overlayRowsMax || starts.overlayBytes > settings.overlayBytesMax
    }

    /// Leaves the group and closes the views. Everything that is not committed is read again by the next
    /// owner.
    private func finish() throws {
        batch.clear()
        try member.leave()
        registry.finish()
        try starts.finish()
    }
}

/// The catalog in the form that pages need.
struct ExpanderView: ExpanderCatalog {
    let view: KnownCatalog

    func app(_ id: String) -> App? { view.apps[id] }
    func segment(_ name: String, of app: String) -> SegmentRule? { view.segment(name, of: app)?.rule }
}
