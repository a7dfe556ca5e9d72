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
    /// How long a turn waits for reports when there is nothing else to do; the limit of a stop's delay.
    static let idleMilliseconds: Int32 = 100
    /// How long a turn waits when something has to be tried again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// How long a full overlay holds up reports at a time; a member must poll now and then.
    static let overlayMilliseconds = 10_000

    let settings: IngestSettings
    let layout: TopicLayout
    let stateDirectory: String
    let log: Log
    let metrics: IngestMetrics
    let boot: BootID
    let cluster: String
    let shared: LoopState
    let clock: () -> WallTime
    let onStep: (IngestStep) -> Void

    let reports: Consumer
    let installations: Consumer
    let writer: PlainWriter
    let transaction: StageTransaction
    let merger: Merger
    let letterSeal: LetterSeal

    var batch: RecordBatch
    var viewBatch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)
    var output: BatchOutput
    var bound: TransactionBound
    /// The key of the report in hand.
    var key: [UInt8] = []
    /// By number; those of the assignment that this loop has answered.
    var owned: [Int32: OwnedPartition] = [:]
    /// Open files of partitions, kept over a rebalance: most come back.
    var files: [Int32: InstallationView] = [:]
    /// The offsets from which everything has to be read again are not known yet.
    var mustStartOver = false
    var nextStartOver = Instant.now()
    /// A view was opened in this turn, and another one is to be opened in the next.
    var isOpening = false
    var pauseMilliseconds = 0
    var blocked: Blockage?
    var clockCheck = ClockCheck()
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
    let installationsTopic: String

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
        stateDirectory = environment.stateDirectory(of: IngestService.name)
        boot = try BootID.current()
        reportsTopic = layout.name(.reports)
        installationsTopic = layout.name(.installations)
        batch = RecordBatch(recordsMax: settings.batchRecordsMax, bytesMax: settings.batchBytesMax)
        output = BatchOutput(lanes: layout.lanes, recordsMax: settings.outputRecordsMax)
        bound = TransactionBound(reportsMax: settings.batchRecordsMax)
        merger = Merger(
            environment.sealingKeys, tokenlessMilliseconds: Int64(settings.tokenlessMilliseconds),
            apps: { environment.catalog?.apps })
        letterSeal = LetterSeal(seal: merger.seal, reader: merger.reader)
        let kafka = environment.cluster.settings
        let identity = environment.identity(of: IngestService.name)
        var member = ConsumerOptions(
            .group(layout.prefix + Self.group, instanceID: identity, topics: [reportsTopic]))
        member.sessionMilliseconds = settings.sessionMilliseconds
        reports = try Consumer(kafka, member, name: "ingest-reports", log: log, metrics: metrics)
        installations = try Consumer(
            kafka, ConsumerOptions(.manual), name: "ingest-installations", log: log, metrics: metrics)
        writer = try PlainWriter(kafka, layout, name: "ingest-plain", log: log, metrics: metrics)
        transaction = StageTransaction(
            topics: [.installations, .registry, .events].map(layout.name), log: log
        ) {
            // A transaction is a small batch for each of many partitions, and zstd sets itself up anew for each.
            var options = ProducerOptions()
            options.compression = .lz4
            return try TransactionalProducer(
                kafka, options, transactionalID: identity, name: "ingest-transactions", log: log,
                metrics: metrics)
        }
        guard
            let cluster = installations.clusterID(withinMilliseconds: StageTransaction.startMilliseconds)
        else {
            throw StageFailure.client("the cluster did not tell its id; check kafka.brokers")
        }
        self.cluster = cluster
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
        try startOver()
        let events = reports.poll(into: &batch, waitMilliseconds: reportsWaitMilliseconds)
        for event in events { try take(event) }
        noteStamps(events, polledBefore: lastPoll)
        lastPoll = .now()
        if !batch.isEmpty {
            // What came along with a change of the assignment belongs to an assignment that is over.
            if !mustStartOver, batchIsServed, trustsClock() { try merge(epoch: reports.epoch) }
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
        if isOpening { return 0 }
        if mustStartOver || blocked != nil { return Self.troubleMilliseconds }
        return isRestoring ? 0 : Self.idleMilliseconds
    }

    private var isRestoring: Bool { owned.values.contains { $0.condition == .restoring } }

    /// After a batch that was not full it takes its time, so that the next one is fuller; with a full
    /// overlay it takes more, so that the overlay is emptied before more is merged.
    private func readViews() throws {
        try readViews(waitMilliseconds: isRestoring && !mustStartOver ? 20 : 0)
        if wasPartial {
            wasPartial = false
            let until = Instant.now().advanced(byMilliseconds: settings.batchMilliseconds)
            while case let left = until.milliseconds(since: .now()), left > 0, blocked == nil {
                try readViews(waitMilliseconds: Int32(left))
            }
        }
        let until = Instant.now().advanced(byMilliseconds: Self.overlayMilliseconds)
        while overlayIsFull, Instant.now() < until, blocked == nil, !shared.mustStop {
            try readViews(waitMilliseconds: 20)
        }
    }

    var overlayRows: Int { owned.values.reduce(0) { $0 + $1.overlay.count } }
    private var overlayBytes: Int { owned.values.reduce(0) { $0 + $1.overlay.bytes } }
    private var overlayIsFull: Bool {
        overlayRows > settings.overlayRowsMax || overlayBytes > settings.overlayBytesMax
    }

    /// Between two transactions of a batch: what the first ones left behind must leave room for the next.
    /// False when the rest of the batch has to be read again.
    func makeRoom() throws -> Bool {
        if repeatedRows > Self.repeatedRowsMax || 2 * overlayBytes > settings.overlayBytesMax {
            try keepRepeated()
        }
        let until = Instant.now().advanced(byMilliseconds: Self.overlayMilliseconds)
        while overlayBytes > settings.overlayBytesMax, !mustStartOver, !shared.mustStop {
            guard Instant.now() < until else {
                giveUp("the views do not follow what is committed", "")
                break
            }
            try readViews(waitMilliseconds: 20)
        }
        return !mustStartOver && !shared.mustStop
    }

    /// Nothing in the batch is of a partition whose reports wait: then it was read before they had to, and
    /// is read again.
    private var batchIsServed: Bool {
        var served: Int32?
        for index in 0..<batch.count {
            let partition = batch[index].partition
            if partition == served { continue }
            guard owned[partition]?.isServing == true else { return false }
            served = partition
        }
        return true
    }

    /// The end in order: what was read is committed, so there is nothing to finish.
    private func finish() throws {
        batch.clear()
        try keepRepeated()
        owned.removeAll()
        if !reports.close() { log.warning("the group could not be left in time; it finds out by itself") }
        viewBatch.clear()
        _ = installations.close()
        for view in files.values { try close(view) }
        files.removeAll()
    }
}
