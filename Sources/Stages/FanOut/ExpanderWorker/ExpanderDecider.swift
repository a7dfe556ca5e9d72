internal import Catalog
internal import CatalogRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Registry
internal import Sends
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
    static let scanningMilliseconds = 50
    /// The wait for the views while the overlay is full.
    static let overlayFullMilliseconds = 20
    /// The decider measures, because requests wait in the queues of their lanes, where the loop does not see them.
    static let measuresWaitingRecords = true

    let settings: FanOutSettings
    let metrics: ExpanderMetrics
    let stage: StageClients<ExpanderDecider>
    let registry: LaneRegistries
    let reader = JSONReader(limits: Expansion.limits)
    let partitioner: LanePartitioner
    private let readCatalog: () -> CatalogSnapshot?

    var page = TokenPage()
    var registryChanges = LaneChanges()
    /// The time of the next transaction that only commits registry offsets. News without output can wait.
    var nextRegistryCommit = Instant.now()
    /// The number of the iteration. It selects the first lane of a transaction, so that no lane is always
    /// last.
    var iteration = 0
    /// Whether the previous transaction was for arrivals.
    var hasJustTakenArrivals = false
    var scopeScan = ViewScan(firstRegularPassAt: .now())
    /// The newest question for young records.
    var youngRecordsQuery: OffsetQueryID?
    /// The time of the next question whether this machine's clock is ahead.
    var nextYoungRecordsQuery = Instant.now()

    init(
        settings: FanOutSettings, in environment: StageEnvironment, context: StageContext<Step>,
        settleMilliseconds: Int
    ) throws {
        self.settings = settings
        metrics = ExpanderMetrics(context.metrics)
        let layout = environment.layout
        partitioner = LanePartitioner(laneCount: layout.lanes)
        readCatalog = { environment.catalog }
        var view = TopicViewDefinition(
            topic: layout.name(of: .starts), table: "starts", schema: TransactionScopes.viewSchema)
        view.derive = ScopesDerivation.writeRow
        view.rowOrder = ScopesRowOrder.self
        var configuration = LoopConfiguration(
            stage: FanOutService.name, group: "expander", inputName: "expansions",
            subscription: ExpanderInputTopic.subscription, outputTopics: OutputTopic.allCases.map(\.topic),
            view: view)
        configuration.loopNumber = FanOutService.Loop.expander.rawValue
        configuration.followedTopics = [.registry]
        (configuration.batchRecordsMax, configuration.batchBytesMax) = (4000, 16 << 20)
        configuration.apply(settings, partitionKibibytesMax: settings.laneKibibytesMax)
        // A full sheet is mostly names and tokens without repetition. On sheets, lz4 saved a twentieth of
        // the bytes for a quarter of the total cost of a large send. If each job is a record, the body
        // repeats and compression helps.
        if settings.jobsPerSheet > 1 {
            configuration.producerOptions.compressionOfTopics[layout.name(of: .jobs)] =
                ProducerOptions.Compression.none
        }
        registry = try LaneRegistries(
            topic: layout.name(of: .registry), directory: environment.stateDirectory(of: FanOutService.name),
            limits: settings.viewLimits, in: environment.cluster, log: context.log,
            metrics: context.metrics)
        stage = try StageClients(
            configuration: configuration, in: environment, context: context, metrics: metrics.stage,
            settleMilliseconds: settleMilliseconds)
    }

    /// The topics of a transaction, in the order of writing.
    enum OutputTopic: Int, CaseIterable {
        case jobsUrgent
        case jobs
        case starts
        case progress
        case expansions
        case subscriptions

        var topic: TopicName {
            switch self {
            case .jobsUrgent: .jobsUrgent
            case .jobs: .jobs
            case .starts: .starts
            case .progress: .progress
            case .expansions: .expansions
            case .subscriptions: .subscriptions
            }
        }
    }

    /// The views of `starts`.
    var scopeViews: TopicViews { stage.views }
    /// The catalog. Nil until it is known.
    var catalog: CatalogSnapshot? { readCatalog() }
    var assignedLanes: Dictionary<Int32, AssignedLane>.Values { stage.member.assignedPartitions.values }

    // MARK: Readiness

    var isReady: Bool { catalog != nil }
    var readinessProblems: [String] { isReady ? [] : ["the catalog has not been read to its end"] }
    var diskFull: DiskFullState? { registry.diskFull }
    var canDecide: Bool { stage.canDecide && registry.diskFull == nil }

    /// Whether the overlay has no space for requests of a topic, until the views have caught up. Walks leave half of it
    /// to arrivals, whose pages are small.
    func isOverlayFull(for topic: ExpanderInputTopic) -> Bool {
        let parts = topic == .walks ? 2 : 1
        return scopeViews.overlayRowCount > settings.overlayRowsMax / parts
            || scopeViews.overlayByteCount > settings.overlayBytesMax / parts
    }

    // MARK: Membership

    func partitionsAssigned(_ numbers: [Int32]) { registry.closeFiles(except: numbers) }

    func partitionsRevoked() { registry.releaseAll() }

    func openNextFile(of numbers: [Int32]) throws -> Bool { try registry.openNextFile(of: numbers) }

    func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) throws {
        var committed: [Int32: Int64?] = [:]
        for offset in offsets {
            let partition = offset.partition.partition
            committed.updateValue(offset.offset, forKey: partition)
            stage.member.assignedPartitions[partition]?.resetForReading(registryCommitted: offset.offset)
        }
        try registry.startReading(from: committed)
    }

    var followedOffsets: [OffsetToCommit] {
        assignedLanes.compactMap { lane in
            lane.registryCommitted.map {
                OffsetToCommit(
                    partition: stage.topicPartition(of: .registry, number: lane.partition), offset: $0)
            }
        }
    }

    // MARK: Views

    func viewCompleted(of partition: Int32) {
        stage.member.assignedPartitions[partition]?.hasReadScopes = true
    }

    func pollOwnClients() throws {
        try readRegistry()
        if stage.member.isStartingOver { return }
        for lane in assignedLanes where lane.state == .restoring { finishRestoring(lane) }
    }

    func readRegistry() throws {
        try registry.read()
        // A lane with a damaged file is not in the registry any more. After a full disk, some records were
        // not taken.
        if !stage.member.isStartingOver,
            registry.diskFull != nil
                || stage.member.assignedPartitions.keys.contains(where: { registry[$0] == nil })
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
                lane: lane.partition, views: scopeViews, reader: reader, log: stage.log)
            lane.worker = LaneWorker(
                registry: file, table: table, jobsPerSheet: settings.jobsPerSheet)
            registry.serve(lane: lane.partition)
        }
        if registry.isComplete(lane: lane.partition) { stage.member.startServing(lane.partition) }
    }

    // MARK: Work

    func performDueWork(at now: Instant) throws -> Wakeup? {
        try runTransaction()
        if canDecide { try subscribeToKnownGroups() }
        if canDecide { try scanNextPage(at: now) }
        return nextWakeup(at: stage.time.now())
    }

    private func nextWakeup(at now: Instant) -> Wakeup {
        if registry.hasMore || hasWork || nextLaneToSubscribe != nil { return Wakeup(at: now) }
        if isOverlayFull(for: .walks) {
            return Wakeup(
                at: now.advanced(byMilliseconds: Self.overlayFullMilliseconds), or: [.records, .views])
        }
        if scopeScan.isInProgress {
            return Wakeup(at: now.advanced(byMilliseconds: Self.scanningMilliseconds))
        }
        var idle = Wakeup(
            at: now.advanced(byMilliseconds: Self.idleMilliseconds), or: [.records, .views, .ownClients])
        idle.gatheringMilliseconds = Self.gatherMilliseconds
        return idle
    }

    /// Whether requests wait that a transaction can take now.
    private var hasWork: Bool {
        canDecide
            && ExpanderInputTopic.allCases.contains { topic in
                !isOverlayFull(for: topic) && assignedLanes.contains { isWaiting(topic, in: $0) }
            }
    }

    var ownClientDescriptors: [Int32] { [registry.descriptor] }

    func performUpkeep(at now: Instant) {
        registry.retryFullDisk(at: now)
        queryYoungRecords(at: now)
        metrics.clockDoubtSeconds.set(Double(stage.clock.doubtfulDifferenceMilliseconds) / 1000)
        let queues = assignedLanes.flatMap(\.queues)
        stage.metrics.inFlight.set(Double(queues.reduce(0) { $0 + $1.count }))
        let oldest = queues.compactMap { $0.uncommitted.first?.stamp }.min()
        stage.metrics.oldestSeconds.set(Double(max(0, oldest.map { times.now - $0 } ?? 0)) / 1000)
    }

    func close() { registry.closeAll() }
}
