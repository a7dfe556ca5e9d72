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

/// The expander's decisions. It keeps the registry and the rows of `starts` of its lanes, and turns their expansions
/// into jobs. A transaction holds one page of every lane with work.
final class ExpanderDecider: StageDecider {
    typealias Step = ExpanderStep
    typealias Part = AssignedLane

    /// The longest wait if there is no work at all.
    static let idleMilliseconds = 250
    /// The wait for expansions after `starts` or the registry has records. Registry news wait for as long, so
    /// that one transaction takes all of them.
    static let gatherMilliseconds = 100
    /// The longest wait during a walk through `starts`, which reads a page in each iteration.
    static let walkingMilliseconds = 50
    /// The wait for the views while the overlay is full.
    static let fullMilliseconds = 20
    /// The loop does not measure, because requests wait in the queues of their lanes.
    static let measuresWaiting = true

    let settings: FanOutSettings
    let metrics: ExpanderMetrics
    let stage: StageClients<ExpanderDecider>
    let registry: LaneRegistries
    let reader = JSONReader(limits: Expansion.limits)
    let lanes: LanePartitioner
    private let readCatalog: () -> CatalogSnapshot?

    var page = TokenPage()
    var news = LaneChanges()
    let requests = DecodedRecordCache<ExpansionRequest>()
    let scopes = DecodedRecordCache<LaneScope>()
    var pageSize: AdaptivePageSize
    /// The time of the next transaction that only commits registry offsets. News without output can wait.
    var nextRegistryCommit = Instant.now()
    /// The number of the iteration. It selects the first lane of a transaction, so that no lane is always
    /// last.
    var turn = 0
    /// The time that the current transaction has spent on reading `starts` while it waited.
    var startsSeconds = 0.0
    /// Whether the previous transaction was for urgent requests.
    var wasUrgent = false
    /// The start and the number of requests of the last urgent transaction.
    var lastUrgent: (began: Instant, requests: Int)?
    var startsWalk = ScopeScan()
    /// The newest question for young records.
    var youngRecords: OffsetQueryID?
    /// The time of the next question whether this machine's clock is ahead.
    var nextQuestion = Instant.now()

    init(
        _ settings: FanOutSettings, in environment: StageEnvironment, _ context: StageContext<Step>,
        settleMilliseconds: Int
    ) throws {
        self.settings = settings
        metrics = ExpanderMetrics(context.metrics)
        let layout = environment.layout
        lanes = LanePartitioner(laneCount: layout.lanes)
        readCatalog = { environment.catalog }
        pageSize = AdaptivePageSize(
            rowsAtStart: settings.pageRowsAtStart, millisecondsMax: settings.pageMilliseconds)
        var view = TopicViewDefinition(
            topic: layout.name(of: .starts), table: "starts", schema: TransactionScopes.viewSchema)
        view.derive = NewestStart.writeRow
        view.rowOrder = ScopesRowOrder.self
        var form = StageForm(
            stage: FanOutService.name, group: "expander", input: "expansions",
            topics: ExpanderInputTopic.allCases.map(\.name), outputs: Place.allCases.map(\.topic), view: view)
        form.loop = FanOutService.Loop.expander.rawValue
        form.followed = [.registry]
        (form.batchRecordsMax, form.batchBytesMax) = (4000, 16 << 20)
        form.viewLimits = settings.viewLimits
        form.sessionMilliseconds = settings.sessionMilliseconds
        form.prefetchKibibytesMax = settings.prefetchKibibytesMax
        form.partitionKibibytesMax = settings.laneKibibytesMax
        // A full sheet is mostly names and tokens without repetition. On sheets, lz4 saved a twentieth of
        // the bytes for a quarter of the total cost of a large send. If each job is a record, the body
        // repeats and compression helps.
        if settings.jobsPerSheet > 1 {
            form.producer.compressionOfTopics[layout.name(of: .jobs)] = ProducerOptions.Compression.none
        }
        registry = try LaneRegistries(
            topic: layout.name(of: .registry), directory: environment.stateDirectory(of: FanOutService.name),
            limits: settings.viewLimits, kafka: environment.cluster.settings, log: context.log,
            metrics: context.metrics)
        stage = try StageClients(
            form, in: environment, context, metrics: metrics.stage, settleMilliseconds: settleMilliseconds)
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

    /// The views of `starts`.
    var starts: TopicViews { stage.views }
    /// The catalog. Nil until it is known.
    var catalog: CatalogSnapshot? { readCatalog() }
    var owned: Dictionary<Int32, AssignedLane>.Values { stage.member.owned.values }

    // MARK: Readiness

    var isReady: Bool { catalog != nil }
    var problems: [String] { isReady ? [] : ["the catalog has not been read to its end"] }
    var blockage: DiskFullState? { registry.diskFull }
    var isSettled: Bool { stage.isSettled && registry.diskFull == nil }

    /// Whether the overlay is full. Then pages wait until the views have caught up. Urgent requests continue,
    /// because they are small.
    var isOverlayFull: Bool {
        starts.overlayRows > settings.overlayRowsMax || starts.overlayBytes > settings.overlayBytesMax
    }

    // MARK: Membership

    func assigned(_ numbers: [Int32]) { registry.closeFiles(except: numbers) }

    func letGo() { registry.releaseAll() }

    func openNext(of numbers: [Int32]) throws -> Bool { try registry.openNextFile(of: numbers) }

    func begin(_ numbers: [Int32], followed offsets: [CommittedOffset]) throws {
        var committed: [Int32: Int64?] = [:]
        for offset in offsets {
            let partition = offset.partition.partition
            committed[partition] = .some(offset.offset)
            stage.member.owned[partition]?.resetForReading(registryCommitted: offset.offset)
        }
        try registry.startReading(from: committed)
    }

    var followedOffsets: [OffsetToCommit] {
        owned.compactMap { lane in
            lane.registryCommitted.map {
                OffsetToCommit(partition: stage.place(.registry, lane.partition), offset: $0)
            }
        }
    }

    // MARK: Views

    func viewIsComplete(_ partition: Int32) { stage.member.owned[partition]?.hasReadScopes = true }

    func readOthers() throws {
        try readRegistry()
        if stage.member.mustStartOver { return }
        for lane in owned where lane.state == .restoring { finishRestoring(lane) }
    }

    func readRegistry() throws {
        try registry.read()
        // A lane with a damaged file is not in the registry any more. After a full disk, some records were
        // not taken.
        if !stage.member.mustStartOver,
            registry.diskFull != nil || stage.member.owned.keys.contains(where: { registry[$0] == nil })
        {
            stage.member.startOverLater()
        }
    }

    /// Completes the restore of a lane. It can take registry news as soon as `starts` is complete. Pages also
    /// wait for the registry.
    private func finishRestoring(_ lane: AssignedLane) {
        guard lane.hasReadScopes, registry.isReady(lane: lane.partition), let file = registry[lane.partition]
        else {
            return
        }
        if lane.worker == nil {
            let table = TransactionScopes(
                lane: lane.partition, views: starts, decoded: scopes, reader: reader, log: stage.log)
            lane.worker = LaneWorker(
                registry: file, table: table, isNew: lane.isNew, jobsPerSheet: settings.jobsPerSheet)
            registry.serve(lane: lane.partition)
        }
        if registry.isComplete(lane: lane.partition) { stage.member.serve(lane.partition) }
    }

    // MARK: Work

    func work(at now: Instant) throws -> Wake? {
        try work()
        if isSettled { try walkOn(now) }
        return wake(at: stage.time.now())
    }

    private func wake(at now: Instant) -> Wake {
        if registry.hasMore || hasWork { return Wake(at: now) }
        if isOverlayFull {
            return Wake(at: now.advanced(byMilliseconds: Self.fullMilliseconds), or: [.records, .views])
        }
        if startsWalk.isInProgress { return Wake(at: now.advanced(byMilliseconds: Self.walkingMilliseconds)) }
        var idle = Wake(
            at: now.advanced(byMilliseconds: Self.idleMilliseconds), or: [.records, .views, .others])
        idle.gatherMilliseconds = Self.gatherMilliseconds
        return idle
    }

    /// Whether requests wait that a transaction can take now.
    private var hasWork: Bool {
        isSettled
            && owned.contains { lane in
                lane.isServing
                    && (isOverlayFull ? !lane.queues[.urgent].isEmpty : !lane.queues.isEmpty)
            }
    }

    var descriptors: [Int32] { [registry.descriptor] }

    func upkeep(at now: Instant) {
        registry.retryFullDisk(at: now)
        askTheTime(now)
        metrics.clockDoubtSeconds.set(Double(stage.clock.doubtMilliseconds) / 1000)
        metrics.pageRows.set(Double(pageSize.rows))
        let queues = owned.flatMap(\.queues.all)
        stage.metrics.inFlight.set(Double(queues.reduce(0) { $0 + $1.count }))
        let oldest = queues.compactMap { $0.uncommitted.first?.stamp }.min()
        stage.metrics.oldestSeconds.set(Double(max(0, oldest.map { times.now - $0 } ?? 0)) / 1000)
    }

    func finish() { registry.finish() }
}

/// The catalog in the form that pages need.
struct ExpanderView: ExpanderCatalog {
    let view: CatalogSnapshot

    func app(_ id: String) -> App? { view.apps[id] }
    func segment(_ name: String, of app: String) -> SegmentRule? { view.segment(named: name, of: app)?.rule }
}
