internal import Catalog
internal import JSON
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The planner's decisions. It plans sends and commits the results in one transaction with their offsets, on top of
/// the views of `groups`.
///
/// A batch holds the sends that have arrived, so a single send is planned at once. Under load the loop waits
/// for more sends (`Gathering`).
final class PlannerDecider: RecordDecider {
    typealias Step = PlannerStep
    typealias Part = SendsPartition

    /// The version of the layout of the views' files. Files with another version are rebuilt.
    static let viewSchema = 1
    /// The longest wait while sends are held, because they must go at their times.
    static let heldSendsWaitMilliseconds = 100

    let settings: FanOutSettings
    let metrics: PlannerMetrics
    let stage: StageClients<PlannerDecider>
    let messageWriter: PlannerMessageWriter
    let planner: Planner
    let apps: CatalogApps
    let reader = JSONReader()
    let partitioner: LanePartitioner

    var output: PlannerOutput
    /// The result of the current transaction, apart from its records, and its rows by partition.
    var plannedWork = PlannedWork()
    var tables: [Int32: TransactionGroups] = [:]
    var heldSendReminders = HeldSendReminders()
    var groupScan = ViewScan()

    init(
        settings: FanOutSettings, in environment: StageEnvironment, context: StageContext<Step>,
        settleMilliseconds: Int
    ) throws {
        self.settings = settings
        metrics = PlannerMetrics(context.metrics)
        let layout = environment.layout
        let lanes = LanePartitioner(laneCount: layout.lanes)
        self.partitioner = lanes
        planner = Planner(
            lanes: layout.lanes, subscribedGroupsMax: max(1, settings.subscribedGroupsMax / layout.lanes)
        ) { app, recipient in lanes.lane(of: recipient, app: app) }
        apps = CatalogApps { environment.catalog?.apps }
        output = PlannerOutput(partitioner: lanes)
        var configuration = LoopConfiguration(
            stage: FanOutService.name, group: "planner", inputName: "sends",
            subscription: PlannerInputTopic.subscription,
            outputTopics: PlannerOutput.OutputTopic.allCases.map(\.topic),
            view: TopicViewDefinition(
                topic: layout.name(of: .groups), table: "groups", schema: Self.viewSchema))
        configuration.loopNumber = FanOutService.Loop.planner.rawValue
        configuration.batchRecordsMax = settings.batchSendsMax
        configuration.batchBytesMax = settings.batchBytesMax
        configuration.overlayRowsMax = settings.overlayRowsMax
        configuration.overlayBytesMax = settings.overlayBytesMax
        configuration.loneRecordTriesMax = settings.loneSendTriesMax
        configuration.apply(settings, partitionKibibytesMax: settings.partitionKibibytesMax)
        messageWriter = try PlannerMessageWriter(
            kafka: environment.cluster.settings, layout: layout, log: context.log, metrics: context.metrics)
        stage = try StageClients(
            configuration: configuration, in: environment, context: context, metrics: metrics.stage,
            settleMilliseconds: settleMilliseconds)
    }

    // MARK: Readiness

    var isReady: Bool { apps.isReady }
    var readinessProblems: [String] { apps.isReady ? [] : ["the catalog has not been read to its end"] }
    var isFull: Bool { heldSendReminders.isFull }

    // MARK: Membership

    func partitionsAssigned(_ numbers: [Int32]) { heldSendReminders.removeAll(except: numbers) }

    func partitionsRevoked() { groupScan = ViewScan() }

    func partitionStartedServing(_ partition: Int32) {
        if stage.member.assignedPartitions[partition]?.isScanned == false {
            groupScan.add(partition, for: .first)
        }
    }

    // MARK: Work

    func gatheringMilliseconds(after batch: borrowing PendingBatch, tookMilliseconds: Int) -> Int {
        Gathering.pauseMilliseconds(after: batch.records.count, taking: tookMilliseconds)
    }

    func performDueWork(at now: Instant) throws -> Wakeup? {
        try releaseHeldSends(at: now)
        if stage.canDecide { try scanNextPage(at: now) }
        if groupScan.isUrgent { return Wakeup(at: now) }
        let nextRelease =
            heldSendReminders.count == 0
            ? nil : now.advanced(byMilliseconds: Self.heldSendsWaitMilliseconds)
        return [nextRelease, groupScan.nextPage(after: now)].compactMap(\.self).min().map { Wakeup(at: $0) }
    }

    func performUpkeep(at now: Instant) throws {
        // Lost notes are repeated from the rows.
        if messageWriter.poll(at: now) {
            for part in servingPartitions { groupScan.add(part.partition, for: .notes) }
        }
        if messageWriter.hasFatalError {
            throw StageFailure.client("a producer of the planner is unusable")
        }
        metrics.clockDoubtSeconds.set(Double(stage.clock.doubtfulDifferenceMilliseconds) / 1000)
        metrics.heldSends.set(Double(heldSendReminders.count))
    }

    var servingPartitions: [SendsPartition] { stage.member.assignedPartitions.values.filter(\.isServing) }

    func close() { messageWriter.flush() }
}
