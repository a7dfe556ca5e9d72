internal import Catalog
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// The expander's one thread: owns lanes as a member of the group, keeps their registry and their rows of
/// `starts`, and turns their expansions into jobs, one page of every lane with work in a transaction.
///
/// Everything it does falls into turns, and a turn leaves nothing half done: a transaction is committed, or
/// everything is read again from the committed offsets with the views read anew to their ends. That is the one
/// way in which anything is repaired here: a transaction of unknown outcome, a producer that is lost, a view
/// that is damaged, lanes that come and go.
final class ExpanderLoop: StageLoop {
    static let group = "expander"
    /// How long a turn waits when there is nothing to do at all; the limit of a stop's delay.
    static let idleMilliseconds: Int32 = 250
    /// How long a turn waits for expansions when `starts` or the registry has something. What the registry tells
    /// waits as long, so that one transaction tells all of it.
    static let gatherMilliseconds: Int32 = 100
    /// The same while all rows of `starts` are looked at, a page a turn.
    static let walkingMilliseconds: Int32 = 50
    /// How long a turn waits when something has to be tried again.
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
    /// When offsets of the registry alone are committed next: news that nobody is to be told of can wait.
    var nextRegistryCommit = Instant.now()
    /// Views that were just read to their ends are of now; to ask for each anew holds up the first expansions.
    var nextAsOf = Instant.now().advanced(byMilliseconds: asOfMilliseconds)
    /// The lane with which the next transaction begins, so that none is always last.
    var turn = 0
    /// What a transaction has spent on reading `starts` while it waited.
    var startsSeconds = 0.0
    /// The transaction before was one of urgent requests.
    var wasUrgent = false
    /// The last transaction of urgent requests: when it began, and how many it took.
    var lastUrgent: (began: Instant, requests: Int)?
    var startsWalk = StartsWalk()
    var time: ClusterClock
    /// The newest question for young records.
    var youngRecords: QuestionID?
    /// When the cluster is asked next whether this machine's clock is ahead.
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
            // A full sheet is names and tokens for the most part, in which nothing comes twice: lz4 took a twentieth off
            // it, for a quarter of all that a large send cost. Where each job is a record, the body comes again and again.
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

    /// What a transaction writes to, in this order.
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

    /// Runs until it is told to stop, or cannot go on.
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
            // What came along with a change of the assignment belongs to an assignment that is over.
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

    /// Nil until the catalogue is known.
    var catalog: KnownCatalog? { readCatalog() }

    /// What restores a view waits there, not here.
    private var waitMilliseconds: Int32 {
        if starts.isOpening || hasWork || registry.hasMore { return 0 }
        if !isSettled { return Self.troubleMilliseconds }
        return member.isRestoring ? 0 : Self.walkingMilliseconds
    }

    private var isIdle: Bool {
        isSettled && !starts.isOpening && !hasWork && !registry.hasMore && !member.isRestoring
            && !startsWalk.isUnderWay
    }

    /// Waits until one of the three readers has something.
    ///
    /// - Returns: how long expansions are waited for then.
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

    /// Then pages wait until the views have caught up. What is urgent does not: it is little.
    var isFull: Bool {
        starts.overlayRows > settings.overlayRowsMax || starts.overlayBytes > settings.overlayBytesMax
    }

    /// The end in order: what is not committed is read again by whoever comes next.
    private func finish() throws {
        batch.clear()
        try member.leave()
        registry.finish()
        try starts.finish()
    }
}

/// The catalogue as pages ask it.
struct ExpanderView: ExpanderCatalog {
    let view: KnownCatalog

    func app(_ id: String) -> App? { view.apps[id] }
    func segment(_ name: String, of app: String) -> SegmentRule? { view.segment(name, of: app)?.rule }
}
