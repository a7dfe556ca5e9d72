internal import Catalog
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
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
    static let heldMilliseconds = 100

    let settings: FanOutSettings
    let metrics: PlannerMetrics
    let stage: StageClients<PlannerDecider>
    let notes: SupersededNoteWriter
    let planner: Planner
    let apps: CatalogApps
    let reader = JSONReader()
    let lanes: LanePartitioner

    var output: PlannerOutput
    /// The result of the current transaction, apart from its records, and its rows by partition.
    var planned = PlannedWork()
    var tables: [Int32: TransactionGroups] = [:]
    var held = HeldSends()
    var walk = GroupScan()

    init(
        _ settings: FanOutSettings, in environment: StageEnvironment, _ context: StageContext<Step>,
        settleMilliseconds: Int
    ) throws {
        self.settings = settings
        metrics = PlannerMetrics(context.metrics)
        let layout = environment.layout
        let lanes = LanePartitioner(laneCount: layout.lanes)
        self.lanes = lanes
        planner = Planner(lanes: layout.lanes) { app, recipient in lanes.lane(of: recipient, app: app) }
        apps = CatalogApps { environment.catalog?.apps }
        output = PlannerOutput(partitioner: lanes)
        var form = StageForm(
            stage: FanOutService.name, group: "planner", input: "sends",
            topics: PlannerInputTopic.allCases.map(\.name),
            outputs: PlannerOutput.OutputTopic.allCases.map(\.topic),
            view: TopicViewDefinition(
                topic: layout.name(of: .groups), table: "groups", schema: Self.viewSchema))
        form.loop = FanOutService.Loop.planner.rawValue
        (form.batchRecordsMax, form.batchBytesMax) = (settings.batchSendsMax, settings.batchBytesMax)
        (form.overlayRowsMax, form.overlayBytesMax) = (settings.overlayRowsMax, settings.overlayBytesMax)
        form.viewLimits = settings.viewLimits
        form.sessionMilliseconds = settings.sessionMilliseconds
        form.prefetchKibibytesMax = settings.prefetchKibibytesMax
        form.partitionKibibytesMax = settings.partitionKibibytesMax
        notes = try SupersededNoteWriter(
            kafka: environment.cluster.settings, layout: layout, log: context.log, metrics: context.metrics)
        stage = try StageClients(
            form, in: environment, context, metrics: metrics.stage, settleMilliseconds: settleMilliseconds)
    }

    // MARK: Readiness

    var isReady: Bool { apps.isReady }
    var problems: [String] { apps.isReady ? [] : ["the catalog has not been read to its end"] }
    var isFull: Bool { held.isFull }

    // MARK: Membership

    func assigned(_ numbers: [Int32]) { held.removeAll(except: numbers) }

    func letGo() { walk = GroupScan() }

    func flows(_ partition: Int32) {
        if stage.member.owned[partition]?.isScanned == false { walk.add(partition) }
    }

    // MARK: Work

    func gatheringMilliseconds(after hand: borrowing BatchInHand, tookMilliseconds: Int) -> Int {
        Gathering.pauseMilliseconds(after: hand.batch.count, taking: tookMilliseconds)
    }

    func work(at now: Instant) throws -> Wake? {
        try releaseHeld(now)
        if stage.isSettled { try walkOn(now) }
        if walk.isUrgent { return Wake(at: now) }
        return held.count == 0 ? nil : Wake(at: now.advanced(byMilliseconds: Self.heldMilliseconds))
    }

    func upkeep(at now: Instant) throws {
        // Lost notes are repeated from the rows.
        if notes.poll() { for part in serving { walk.add(part.partition) } }
        if notes.hasFatalError { throw StageFailure.client("a producer of the planner is unusable") }
        metrics.clockDoubtSeconds.set(Double(stage.clock.doubtMilliseconds) / 1000)
        metrics.held.set(Double(held.count))
    }

    var serving: [SendsPartition] { stage.member.owned.values.filter(\.isServing) }

    func finish() { notes.flush() }
}
