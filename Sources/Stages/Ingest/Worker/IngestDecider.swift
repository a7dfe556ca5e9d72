internal import Catalog
internal import Kafka
internal import Lifecycle
internal import LiveActivity
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
    let forwarding: ReportForwarder
    let merges: ReportMergers
    let letterSeal: DeadLetterSeal

    var output: IngestOutput
    /// The installations of the current transaction, and the outcomes of its reports.
    var rosters: [InstallationBatch] = []
    var tally = Tally()
    /// The time for the decisions of the current batch, in milliseconds since 1970.
    var decidedAt: Int64 = 0
    /// The key of the current report.
    var key: [UInt8] = []
    var sweep: SweepPosition

    /// The newest question for young reports.
    var youngReports: OffsetQueryID?
    /// The ends of the report partitions at the last poll that reached them.
    var reportEnds: [Int32: Int64] = [:]
    /// The stamps that lead the time for decisions, less the steady clock. While it is set, nothing is merged.
    var leadingStamp: Int64?
    var leadingSince: Instant?
    /// The next time at which the reports are read although stamps lead, for newer stamps.
    var nextLook = Instant(nanoseconds: 0)
    /// Whether the difference of the clocks is logged.
    var isDifferenceTold = false

    init(
        _ settings: IngestSettings, in environment: StageEnvironment, _ context: StageContext<Step>,
        settleMilliseconds: Int
    ) throws {
        self.settings = settings
        metrics = IngestMetrics(context.metrics)
        let layout = environment.layout
        output = IngestOutput(laneCount: layout.lanes, recordsMax: settings.outputRecordsMax)
        sweep = SweepPosition(nextPass: context.time.now())
        merges = ReportMergers(
            sealingKeys: environment.sealingKeys,
            tokenlessMilliseconds: Int64(settings.tokenlessMilliseconds),
            apps: { environment.catalog?.apps })
        letterSeal = DeadLetterSeal(seal: merges.seal, reader: merges.reader)
        var form = StageForm(
            stage: IngestService.name, group: "ingest", input: "reports", topics: [.reports],
            outputs: [.installations, .registry, .events],
            view: TopicViewDefinition(
                topic: layout.name(of: .installations), table: "installations", schema: Self.viewSchema))
        (form.batchRecordsMax, form.batchBytesMax) = (settings.batchRecordsMax, settings.batchBytesMax)
        (form.overlayRowsMax, form.overlayBytesMax) = (settings.overlayRowsMax, settings.overlayBytesMax)
        form.viewLimits = settings.viewLimits
        form.sessionMilliseconds = settings.sessionMilliseconds
        stage = try StageClients(
            form, in: environment, context, metrics: metrics.stage, settleMilliseconds: settleMilliseconds)
        forwarding = ReportForwarder(writer: stage.writer, topic: layout.name(of: .reports))
    }

    // MARK: Readiness

    var isReady: Bool { merges.isReady && (leadingStamp == nil || stage.time.now() >= nextLook) }

    var problems: [String] {
        (clockProblem.map { [$0] } ?? [])
            + (merges.isReady ? [] : ["the catalog has not been read to its end"])
    }

    // MARK: Membership

    func assigned(_ numbers: [Int32]) {}

    func letGo() { reportEnds = [:] }

    func begin(_ numbers: [Int32], followed offsets: [CommittedOffset]) {
        askForYoungReports(numbers.map { stage.place(.reports, $0) })
    }

    func flows(_ partition: Int32) { reportEnds[partition] = nil }

    // MARK: Work

    /// After a batch that was not full, more reports may be about to arrive.
    func gatheringMilliseconds(after hand: borrowing BatchInHand, tookMilliseconds: Int) -> Int {
        hand.batch.isFull ? 0 : settings.batchMilliseconds
    }

    func work(at now: Instant) throws -> Wake? {
        let isCrowded = 2 * stage.views.overlayBytes > settings.overlayBytesMax
        if stage.views.repeatedRows > Self.repeatedRowsMax || isCrowded {
            try stage.views.writeRepeatedRows()
        }
        return nil
    }

    func upkeep(at now: Instant) throws {
        recheckClock(now)
        guard stage.isSettled else { return }
        try stage.views.writeRepeatedRows()
        try sweepPage(now)
    }
}
