internal import Catalog
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The decisions of ingest: it merges reports into installations, and commits the changes and the offsets of the
/// reports in one transaction. The known installations are in the views of the topic `installations`, and in their
/// overlays.
///
/// `+Transaction` has the steps of a transaction, `+Merge` decides about its reports, and `+Lookup` finds the known
/// installations. `+Erasure` erases users from all installations of a partition. `+TokenOwner` decides which
/// installation has a start token. `+Clock` decides whether reports wait for a clock. `+Sweep` expires data.
final class IngestDecider: RecordDecider {
    typealias Step = IngestStep
    typealias Part = ReportsPartition

    /// The version of the view files' layout. Another number makes the stage rebuild the views.
    static let viewSchema = 3
    /// The maximum number of installations whose newest times are only in memory. Beyond it, they are written to the
    /// views at once. A kill loses these times.
    static let repeatedRowsMax = 10_000

    let settings: IngestSettings
    let metrics: IngestMetrics
    let stage: StageClients<IngestDecider>
    let forwarder: ReportForwarder
    let mergers: ReportMergers
    let deadLetterSeal: DeadLetterSeal

    // The current transaction.

    var output: IngestOutput
    /// The installations of its reports, with one element for each part of the batch.
    var installationBatches: [InstallationBatch] = []
    var outcomeCounts = OutcomeCounts()
    /// The time for the decisions of the current batch, in milliseconds since 1970.
    var decidedAt: Int64 = 0
    /// The key of the current report. Its memory is used again, so that a report allocates none.
    var reportKey: [UInt8] = []
    /// The key of the current claim's token, in the same way.
    var tokenKey: [UInt8] = []
    var pendingClaims = PendingClaims()

    /// The erasures of the current partition whose users are not erased from its installations yet.
    var pendingErasures = ErasedUsers()

    var sweepPosition: SweepPosition

    // The clocks.

    /// The newest query for young reports.
    var youngReportsQuery: OffsetQueryID?
    /// The ends of the report partitions at the last poll that reached them. A report at or behind an end is younger
    /// than that poll.
    var reportEnds: [Int32: Int64] = [:]
    /// The wait of reports for a clock. While it lasts, nothing is merged.
    var clockWait = ClockWait()
    /// Whether the log says that the clocks differ.
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
        deadLetterSeal = DeadLetterSeal(tokenSeal: mergers.tokenSeal, reader: mergers.reader)
        stage = try StageClients(
            configuration: Self.loopConfiguration(for: settings, layout: layout), in: environment,
            context: context, metrics: metrics.stage, settleMilliseconds: settleMilliseconds)
        forwarder = ReportForwarder(writer: stage.writer, topic: layout.name(of: .reports))
    }

    static let subscription = TopicSubscription(topics: [.reports])

    private static func loopConfiguration(
        for settings: IngestSettings, layout: TopicLayout
    ) -> LoopConfiguration {
        var configuration = LoopConfiguration(
            stage: IngestService.name, group: "ingest", inputName: "reports", subscription: subscription,
            outputTopics: [.installations, .registry, .events],
            view: TopicViewDefinition(
                topic: layout.name(of: .installations), table: "installations", schema: viewSchema))
        configuration.batchRecordsMax = settings.batchRecordsMax
        configuration.batchBytesMax = settings.batchBytesMax
        configuration.overlayRowsMax = settings.overlayRowsMax
        configuration.overlayBytesMax = settings.overlayBytesMax
        configuration.prefetchKibibytesMax = settings.prefetchKibibytesMax
        configuration.fetchKibibytesMax = settings.fetchKibibytesMax
        configuration.partitionKibibytesMax = settings.partitionKibibytesMax
        configuration.viewLimits = settings.viewLimits
        configuration.sessionMilliseconds = settings.sessionMilliseconds
        return configuration
    }

    // MARK: Readiness

    var isReady: Bool {
        let waitsForClock = clockWait.isWaiting && stage.time.now() < clockWait.nextCheck
        return mergers.isReady && !waitsForClock
    }

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

    /// Returns a pause after a batch that is not full, because a larger batch costs less for each report. A backlog
    /// fills the batch and is not delayed.
    func gatheringMilliseconds(after batch: borrowing PendingBatch, tookMilliseconds: Int) -> Int {
        if batch.records.isFull { return 0 }
        return ReportGathering.pauseMilliseconds(
            after: batch.records.count, taking: tookMilliseconds, atLeast: settings.batchMilliseconds)
    }

    /// Moves repeated rows to the views before they take too much memory.
    func performDueWork(at now: Instant) throws -> Wakeup? {
        let isOverlayHalfFull = 2 * stage.views.overlayByteCount > settings.overlayBytesMax
        if stage.views.repeatedRowCount > Self.repeatedRowsMax || isOverlayHalfFull {
            try stage.views.writeRepeatedRows()
        }
        return nil
    }

    func performUpkeep(at now: Instant) throws {
        checkClocks(at: now)
        guard stage.canDecide else { return }
        try stage.views.writeRepeatedRows()
        try sweepPage(at: now)
    }
}
