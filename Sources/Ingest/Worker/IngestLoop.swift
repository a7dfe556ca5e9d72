internal import Catalog
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// The stage's one thread: reads reports as a member of the group, merges them, commits what they
/// change in one transaction with the offsets, and keeps the views.
///
/// Everything it does falls into turns, and a turn leaves nothing half done: a batch is committed, or
/// it is read again from the committed offsets with the views read anew to their ends. That is the one
/// way in which anything is repaired here: a transaction of unknown outcome, a producer that is lost,
/// a view that is damaged, partitions that come and go.
final class IngestLoop: StageLoop {
    static let group = "ingest"
    /// Another number is another layout of the views' files; then they are rebuilt.
    static let viewSchema = 3
    /// How long a turn waits for reports when there is nothing else to do; the limit of a stop's delay.
    static let idleMilliseconds: Int32 = 250
    /// How long a turn waits when something has to be tried again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// How long a full overlay holds up reports at a time; a member must poll now and then.
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
    /// The key of the report in hand.
    var key: [UInt8] = []
    var clockCheck = ClockCheck()
    /// The newest question for young reports.
    var youngReports: QuestionID?
    /// Which clock is wrong, for a person; then nothing is merged.
    var wrongClock: String?
    /// Where the partitions of reports ended when the last poll had come to their ends.
    var reportEnds: [Int32: Int64] = [:]
    private var lastPoll = Instant.now()
    /// The last batch was not full: others may be on their way.
    private var wasPartial = false
    var nextUpkeep = Instant.now()
    /// Views that were just read to their ends are of now; to ask for each anew holds up the first reports.
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
        writer = try PlainWriter(kafka, layout, name: "ingest-plain", log: log, metrics: metrics)
        forwarding = try ReportForwarding(by: writer, to: reportsTopic)
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

    /// Runs until it is told to stop, or cannot go on.
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
            // What came along with a change of the assignment belongs to an assignment that is over.
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

    /// What restores a view waits there, not here.
    private var reportsWaitMilliseconds: Int32 {
        if views.isOpening { return 0 }
        if member.mustStartOver || views.blockage != nil { return Self.troubleMilliseconds }
        return member.isRestoring ? 0 : Self.idleMilliseconds
    }

    /// After a batch that was not full it takes its time, so that the next one is fuller; with a full
    /// overlay it takes more, so that the overlay is emptied before more is merged.
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

    /// Between two transactions of a batch: what the first ones left behind must leave room for the next.
    /// False when the rest of the batch has to be read again.
    func makeRoom() throws -> Bool {
        if views.repeatedRows > Self.repeatedRowsMax || 2 * views.overlayBytes > settings.overlayBytesMax {
            try views.keepRepeated()
        }
        let until = Instant.now().advanced(byMilliseconds: Self.overlayMilliseconds)
        while views.overlayBytes > settings.overlayBytesMax, !member.mustStartOver, !shared.mustStop {
            guard Instant.now() < until else {
                member.giveUp("the views do not follow what is committed", "")
                break
            }
            try readViews(waitMilliseconds: 20)
        }
        // A stop in the middle of a batch leaves the rest of it unread.
        if shared.mustStop { member.startOverLater() }
        return !member.mustStartOver
    }

    /// The end in order: what was read is committed, so there is nothing to finish.
    private func finish() throws {
        batch.clear()
        try views.keepRepeated()
        try member.leave()
        try views.finish()
    }
}
