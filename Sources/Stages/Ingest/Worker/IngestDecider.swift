internal import Catalog
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The decisions of ingest. It merges reports and commits the changes with their offsets in one transaction, on top
/// of the views of `installations`.
final class IngestDecider: RecordDecider {
    typealias Step = IngestStep
    typealias Part = ReportsPartition

    /// The version of the view files' layout. Another number makes the stage rebuild the views.
    static let viewSchema = 3
    /// The maximum number of installations whose repetition is only in memory. A kill loses these
    /// repetitions.
    static let repeatedRowsMax = 10_000

    let settings: IngestSettings
    let metrics: IngestMetrics
    let stage: StageClients<IngestDecider>
    let forwarder: ReportForwarder
    let mergers: ReportMergers
    let deadLetterSeal: DeadLetterSeal

    var output: IngestOutput
    /// The installations of the current transaction, and the outcomes of its reports.
    var installationBatches: [InstallationBatch] = []
    var outcomeCounts = OutcomeCounts()
    /// The time for the decisions of the current batch, in milliseconds since 1970.
    var decidedAt: Int64 = 0
    /// The key of the current report.
    var reportKey: [UInt8] = []
    var sweepPosition: SweepPosition

    /// The newest question for young reports.
    var youngReportsQuery: OffsetQueryID?
    /// The ends of the report partitions at the last poll that reached them.
    var reportEnds: [Int32: Int64] = [:]
    /// The stamps that lead the time for decisions, less the steady clock. While it is set, nothing is merged.
    var leadingStampOffset: Int64?
    var leadingSince: Instant?
    /// The next time at which the reports are read although stamps lead, for newer stamps.
    var nextClockCheck = Instant(nanoseconds: 0)
    /// Whether the difference of the clocks is logged.
    var isDifferenceLogged = false

    init(
        settings: IngestSettings, in environment: StageEnvironment, context: StageContext<Step>,
        settleMilliseconds: Int
    ) throws {
        self.settings = settings
        metrics = IngestMetrics(context.metrics)
        let layout = environment.layout
        output = IngestOutput(laneCount: layout.lanes, recordsMax: settings.outputRecordsMax)
        sweepPosition = SweepPosition(nextPass: context.time.now())
        mergers = ReportMergers(
            sealingKeys: environment.sealingKeys,
            tokenlessMilliseconds: Int64(settings.tokenlessMilliseconds),
            apps: { environment.catalog?.apps })
        deadLetterSeal = DeadLetterSeal(tokenSeal: mergers.seal, reader: mergers.reader)
        var form = LoopConfiguration(
            stage: IngestService.name, group: "ingest", inputName: "reports", topics: [.reports],
            outputTopics: [.installations, .registry, .events],
            view: TopicViewDefinition(
                topic: layout.name(of: .installations), table: "installations", schema: Self.viewSchema))
        (form.batchRecordsMax, form.batchBytesMax) = (settings.batchRecordsMax, settings.batchBytesMax)
        (form.overlayRowsMax, form.overlayBytesMax) = (settings.overlayRowsMax, settings.overlayBytesMax)
        form.viewLimits = settings.viewLimits
        form.sessionMilliseconds = settings.sessionMilliseconds
        stage = try StageClients(
            configuration: form, in: environment, context: context, metrics: metrics.stage,
            settleMilliseconds: settleMilliseconds)
        forwarder = ReportForwarder(writer: stage.writer, topic: layout.name(of: .reports))
    }

    // MARK: Readiness

    var isReady: Bool { mergers.isReady && (leadingStampOffset == nil || stage.time.now() >= nextClockCheck) }

    var readinessProblems: [String] {
        (clockProblem.map { [$0] } ?? [])
            + (mergers.isReady ? [] : ["the catalog has not been read to its end"])
    }

    // MARK: Membership

    func partitionsAssigned(_ numbers: [Int32]) {}

    func partitionsRevoked() { reportEnds = [:] }

    func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) {
        queryYoungReports(in: numbers.map { stage.topicPartition(of: .reports, number: $0) })
    }

    func partitionStartedServing(_ partition: Int32) { reportEnds[partition] = nil }

    // MARK: Work

    /// After a batch that was not full, more reports may be about to arrive.
    func gatheringMilliseconds(after batch: borrowing PendingBatch, tookMilliseconds: Int) -> Int {
        batch.records.isFull ? 0 : settings.batchMilliseconds
    }

    func performDueWork(at now: Instant) throws -> Wakeup? {
        let isCrowded = 2 * stage.views.overlayBytes > settings.overlayBytesMax
        if stage.views.repeatedRows > Self.repeatedRowsMax || isCrowded {
            try stage.views.writeRepeatedRows()
        }
        return nil
    }

    func performUpkeep(at now: Instant) throws {
        recheckClock(at: now)
        guard stage.canDecide else { return }
        try stage.views.writeRepeatedRows()
        try sweepPage(at: now)
    }
}
