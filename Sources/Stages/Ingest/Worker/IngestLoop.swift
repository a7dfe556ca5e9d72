internal import Catalog
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The only thread of the stage. It reads reports as a member of the group and merges them. It commits the
/// changes with the offsets in one transaction, and it maintains the views.
///
/// Each iteration leaves nothing half done. A batch is committed, or it is read again from the committed
/// offsets, with the views read again to their ends. That is the only repair here. It covers transactions of
/// unknown outcome, lost producers, damaged views, and partitions that come and go.
final class IngestLoop: StageLoop {
    static let group = "ingest"
    /// The version of the view files' layout. Another number makes the stage rebuild the views.
    static let viewSchema = 3
    /// The maximum wait for reports in one iteration. It also limits the delay of a stop.
    static let idleMilliseconds: Int32 = 250
    /// The wait of an iteration while something has to be retried.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// The maximum time for which a full overlay holds back reports. A member must poll in between.
    static let overlayMilliseconds = 10_000

    let settings: IngestSettings
    let layout: TopicLayout
    let log: Log
    let metrics: IngestMetrics
    let shared: LoopState
    let clock: () -> WallTime
    let onStep: (IngestStep) -> Void

    let reports: Consumer
    let member: GroupMember<OwnedPartition>
    let views: TopicViews
    let writer: PlainWriter
    let forwarding: ReportForwarding
    let transaction: StageTransaction
    let merges: AppMerges
    let letterSeal: LetterSeal

    var batch: RecordBatch
    var output: BatchOutput
    var bound: TransactionBound
    /// The key of the current report.
    var key: [UInt8] = []
    var clockCheck = ClockCheck()
    /// The newest question for young reports.
    var youngReports: QuestionID?
    /// The report of a wrong clock. While it is set, nothing is merged.
    var wrongClock: String?
    /// The ends of the report partitions at the last poll that reached them.
    var reportEnds: [Int32: Int64] = [:]
    private var lastPoll = Instant.now()
    /// Whether the last batch was not full. Then more reports may be about to arrive.
    private var wasPartial = false
    var nextUpkeep = Instant.now()
    /// The next refresh of the views' age. Views that were just read to their ends are current. To ask for
    /// each again would delay the first reports.
    var nextAsOf = Instant.now().advanced(byMilliseconds: asOfMilliseconds)
    var sweep = SweepPosition()

    let reportsTopic: String

    init(
        _ settings: IngestSettings, in environment: StageEnvironment, clock: @escaping () -> WallTime,
        shared: LoopState, log: Log, metrics: Metrics, onStep: @escaping (IngestStep) -> Void
    ) throws {
        self.settings = settings
        self.clock = clock
        self.shared = shared
        self.log = log
        self.onStep = onStep
        self.metrics = IngestMetrics(metrics)
        layout = environment.layout
        reportsTopic = layout.name(.reports)
        batch = RecordBatch(recordsMax: settings.batchRecordsMax, bytesMax: settings.batchBytesMax)
        output = BatchOutput(lanes: layout.lanes, recordsMax: settings.outputRecordsMax)
        bound = TransactionBound(recordsMax: settings.batchRecordsMax)
        merges = AppMerges(
            environment.sealingKeys, tokenlessMilliseconds: Int64(settings.tokenlessMilliseconds),
            apps: { environment.catalog?.apps })
        letterSeal = LetterSeal(seal: merges.seal, reader: merges.reader)
        let kafka = environment.cluster.settings
        let identity = environment.identity(of: IngestService.name)
        var options = ConsumerOptions(
            .group(layout.prefix + Self.group, instanceID: identity, topics: [reportsTopic]))
        options.sessionMilliseconds = settings.sessionMilliseconds
        reports = try Consumer(kafka, options, name: "ingest-reports", log: log, metrics: metrics)
        views = try TopicViews(
            TopicViewForm(
                topic: layout.name(.installations), table: "installations", schema: Self.viewSchema),
            directory: environment.stateDirectory(of: IngestService.name), limits: settings.viewLimits,
            kafka: kafka, name: "ingest-installations", log: log, metrics: metrics,
            numbers: self.metrics.views)
        writer = PlainWriter(kafka, layout, name: "ingest-plain", log: log, metrics: metrics)
        forwarding = ReportForwarding(by: writer, to: reportsTopic)
        transaction = StageTransaction(
            topics: [.installations, .registry, .events].map(layout.name), log: log
        ) {
            try TransactionalProducer(
                kafka, transactionalID: identity, name: "ingest-transactions", log: log, metrics: metrics)
        }
        member = GroupMember(
            reports, layout: layout, topics: [.reports], transaction: transaction, log: log,
            startedOver: self.metrics.startedOver, restoreSeconds: self.metrics.restoreSeconds)
        member.owner = self
        views.owner = self
        if let obstacle = try transaction.prepare(withinMilliseconds: StageTransaction.startMilliseconds) {
            throw StageFailure.client(obstacle)
        }
    }

    /// Runs until a stop is requested or an error ends the stage.
    func run() throws {
        defer { shared.setObstacles(["stopped"]) }
        while !shared.mustStop { try turn() }
        try finish()
    }

    private func turn() throws {
        try readViews()
        try member.startOver()
        let events = reports.poll(into: &batch, waitMilliseconds: reportsWaitMilliseconds)
        for event in events {
            hearYoungReports(event)
            try member.hear(event)
        }
        noteStamps(events, polledBefore: lastPoll)
        lastPoll = .now()
        if !batch.isEmpty {
            // Records that came with a change of the assignment belong to the previous assignment.
            if !member.mustStartOver, trustsClock() { try merge(epoch: reports.epoch) }
            wasPartial = !batch.isFull
            batch.clear()
        }
        let now = Instant.now()
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            try upkeep(now)
        }
    }

    /// The wait for reports. It is 0 while a view is restored, because the views have their own wait.
    private var reportsWaitMilliseconds: Int32 {
        if views.isOpening { return 0 }
        if member.mustStartOver || views.blockage != nil { return Self.troubleMilliseconds }
        return member.isRestoring ? 0 : Self.idleMilliseconds
    }

    /// Reads the views. After a partial batch this waits a little, so that the next batch is fuller. With a
    /// full overlay it waits longer, so that the overlay is drained before more is merged.
    private func readViews() throws {
        try readViews(waitMilliseconds: member.isRestoring && !member.mustStartOver ? 20 : 0)
        if wasPartial {
            wasPartial = false
            let until = Instant.now().advanced(byMilliseconds: settings.batchMilliseconds)
            while case let left = until.milliseconds(since: .now()), left > 0, views.blockage == nil {
                try readViews(waitMilliseconds: Int32(left))
            }
        }
        let until = Instant.now().advanced(byMilliseconds: Self.overlayMilliseconds)
        while overlayIsFull, Instant.now() < until, views.blockage == nil, !shared.mustStop {
            try readViews(waitMilliseconds: 20)
        }
    }

    private var overlayIsFull: Bool {
        views.overlayRows > settings.overlayRowsMax || views.overlayBytes > settings.overlayBytesMax
    }

    /// Drains the overlay between two transactions of a batch, so that the next one fits. Returns false if
    /// the rest of the batch must be read again.
    func makeRoom() throws -> Bool {
        if views.repeatedRows > Self.repeatedRowsMax || 2 * views.overlayBytes > settings.overlayBytesMax {
            try views.keepRepeated()
        }
        let until = Instant.now().advanced(byMilliseconds: Self.overlayMilliseconds)
        while views.overlayBytes > settings.overlayBytesMax, !member.mustStartOver, !shared.mustStop {
            guard Instant.now() < until else {
                member.giveUp("the views lag behind the committed records", "")
                break
            }
            try readViews(waitMilliseconds: 20)
        }
        // A stop in the middle of a batch leaves its rest unread.
        if shared.mustStop { member.startOverLater() }
        return !member.mustStartOver
    }

    /// Ends in order. All merged reports are committed, so no work is left.
    private func finish() throws {
        batch.clear()
        try views.keepRepeated()
        try member.leave()
        try views.finish()
    }
}
