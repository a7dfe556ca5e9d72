internal import JSON
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The loop of the stage, on one thread. As a member of a consumer group it reads the topics of its lanes, and
/// writes them to the lanes' files (`LaneFiles`). A file also contains the offset up to which it has read. So
/// records that are read again after a kill or a rebalance count once. The committed offsets of the group
/// serve only `flotilla lag`.
///
/// Every problem of a lane has the same repair: its files are closed and opened again, and reading continues
/// from their offsets.
final class InsightLoop: ThreadLoop {
    static let group = "insight"
    /// The wait for records in an idle iteration. It bounds the delay of a stop.
    static let idleMilliseconds: Int32 = 250
    /// The wait in an iteration while a lane must be opened again.
    static let recoveryMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// The pause after a lane's files could not be opened or written.
    static let retryMilliseconds = 1000
    /// The pause of a topic whose file is full. Until then, old rows may have been deleted.
    static let fullFileMilliseconds = 600_000

    let settings: InsightSettings
    let layout: TopicLayout
    let state: LoopState
    let log: Log
    let metrics: InsightMetrics
    let onStep: (InsightStep) -> Void
    let consumer: Consumer
    /// The queries for the ends of partitions. The consumer is not used for them, because its requests wait behind
    /// its fetches, up to half a second for each broker.
    let endOffsetQueries: ClusterQueries
    let cluster: String
    let boot: BootID
    let directory: String
    let reader = JSONReader()

    var batch: RecordBatch

    // A lane passes through these states: offered, unopened, open and waiting for the ends of its topics, read.
    var membership = Membership.joining
    /// The partitions that the group offers until they are taken over, and the time of the next attempt.
    var offered: [TopicPartition]?
    /// The lanes of the newest offer that lack a topic, for operators.
    var offerProblem: String?
    var nextOfferAttempt = Instant.now()
    /// The assigned lanes that are not open yet, and the times of their next attempts.
    var unopenedLanes: [Int32: Instant] = [:]
    /// The reasons that lanes are closed, for people.
    var laneProblems: [Int32: String] = [:]
    /// The lanes whose files are open.
    var lanes: [Int32: LaneFiles] = [:]
    /// The topics of lanes whose files are full, and the times at which they are read again.
    var fullFiles: [TopicPartition: Instant] = [:]
    /// The partitions of open lanes that are not read yet, because their ends are not known.
    var endOffsets = AwaitedWatermarks()
    /// Whether partitions wait for the next start.
    var mustStartPartitions = false
    /// The earliest time of the next start.
    var nextPartitionStart = Instant.now()

    /// The offsets of the last commit.
    var committedOffsets: [TopicPartition: Int64] = [:]
    /// The open lanes for the threads that answer queries.
    let openLanes: OpenLanes
    /// The time of the cluster's last failure. For a while after it, `publishAsOf` does not trust that the last record
    /// read is the end of a partition.
    var failedAt: Instant?
    private var nextUpkeep = Instant.now()
    /// The number of deletions of old rows, so that each begins with another lane.
    var deletionCount: UInt = 0

    init(
        settings: InsightSettings, in environment: StageEnvironment, state: LoopState, log: Log,
        metrics: Metrics, openLanes: OpenLanes, freshness: FreshnessLog,
        onStep: @escaping (InsightStep) -> Void
    ) throws {
        self.settings = settings
        self.state = state
        self.log = log
        self.openLanes = openLanes
        self.onStep = onStep
        self.metrics = InsightMetrics(metrics)
        layout = environment.layout
        boot = try BootID.current()
        directory = environment.stateDirectory(of: InsightService.name)
        batch = RecordBatch(
            recordsMax: settings.batchRecordsMax, bytesMax: settings.batchBytesMax, countsHeaders: true)
        var options = ConsumerOptions(
            membership: environment.membership(
                of: InsightService.name, in: Self.group, reading: InsightTopic.subscription))
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.prefetchRecordsMax = settings.prefetchRecordsMax
        options.fetchKibibytesMax = settings.fetchKibibytesMax
        options.partitionKibibytesMax = settings.partitionKibibytesMax
        consumer = try Consumer(
            settings: environment.cluster.settings, options: options, name: "insight", log: log,
            metrics: metrics)
        endOffsetQueries = try environment.cluster.makeQueries(log: log, metrics: metrics)
        guard let cluster = consumer.clusterID(withinMilliseconds: TransactionRunner.startMillisecondsMax)
        else {
            throw StageFailure.client("the cluster did not return its id; check kafka.brokers")
        }
        self.cluster = cluster
        let (directory, boot) = (directory, boot)
        freshness.open { () throws(StoreError) in
            try FreshnessFile(directory: directory + "/freshness", cluster: cluster, boot: boot)
        }
    }

    /// Runs until the process asks it to stop or an error ends it.
    func run() throws {
        defer { state.setReadinessProblems(["stopped"]) }
        while !state.mustStop { try iterate() }
        finish()
    }

    private func iterate() throws {
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        // Records are valid after a rebalance too, and open files may take them.
        if !batch.isEmpty {
            apply(batch)
            batch.clear()
        }
        for event in events { try handle(event) }
        commitFiles()
        try takeOverOfferedLanes()
        openNextLane()
        let now = Instant.now()
        queryEndsAndStartReading(at: now)
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            performUpkeep()
        }
    }

    private var waitMilliseconds: Int32 {
        if offered != nil { return Self.recoveryMilliseconds }
        if mustStartPartitions || !endOffsets.isEmpty { return Self.recoveryMilliseconds }
        if unopenedLanes.isEmpty { return Self.idleMilliseconds }
        let now = Instant.now()
        return unopenedLanes.values.contains { $0 <= now } ? 0 : Self.recoveryMilliseconds
    }

    // MARK: Records

    /// Gives the records to the files of their lanes. Records of a lane that is not open are dropped; they are
    /// read again when it opens.
    private func apply(_ batch: borrowing RecordBatch) {
        let startedAt = Instant.now()
        metrics.inFlight.set(Double(batch.count))
        var countsByTopic: [InsightTopic: [RecordOutcome: Int]] = [:]
        var oldest = Int64.max
        for index in 0..<batch.count {
            let partition = batch[index].partition
            guard let lane = lanes[partition], let topic = InsightTopic(rawValue: batch[index].topic) else {
                continue
            }
            if let time = batch[index].timestamp { oldest = min(oldest, time) }
            do {
                let outcome = try lane.apply(batch[index], of: topic, with: reader)
                countsByTopic[topic, default: [:]][outcome, default: 0] += 1
            } catch {
                reopen(lane: partition, after: LaneFileFailure(error: error, of: topic))
            }
        }
        commitFiles()
        for (topic, counts) in countsByTopic { report(counts, of: topic) }
        metrics.inFlight.set(0)
        if oldest != .max {
            metrics.oldestSeconds.set(Double(max(0, WallTime.now().milliseconds - oldest)) / 1000)
        }
        metrics.batchSeconds.observe(Instant.now().seconds(since: startedAt))
        onStep(.batchCommitted)
    }

    /// Counts the outcomes of a topic's records, and logs unreadable ones.
    private func report(_ counts: [RecordOutcome: Int], of topic: InsightTopic) {
        for (outcome, count) in counts {
            metrics.records(topic: topic.name.rawValue, outcome: outcome).add(count)
            if outcome == .unreadable {
                log.warning(
                    "records cannot be read and are left out of the figures; check that this process is not older than the others",
                    .field("topic", topic.name.rawValue), .field("count", count))
            }
        }
    }

    /// Writes the applied records of each lane to disk, together with their offsets.
    func commitFiles() {
        for lane in lanes.values where lane.hasUncommittedChanges {
            if let (topic, error) = commitFiles(of: lane) {
                recover(lane, from: LaneFileFailure(error: error, of: topic), of: topic)
            } else {
                lane.markCommitted()
                publishAsOf(lane)
            }
        }
    }

    /// Writes the files of a lane, up to the first that fails.
    ///
    /// - Returns: The topic and the error of a file that could not be written.
    private func commitFiles(of lane: LaneFiles) -> (InsightTopic, any Error)? {
        for topic in InsightTopic.allCases {
            do { try lane.files[topic.rawValue].commit() } catch { return (topic, error) }
            switch topic {
            case .receipts: onStep(.receiptsCommitted)
            case .events: onStep(.eventsCommitted)
            case .progress, .groups, .installations, .timers, .audit, .auditSends:
                onStep(.rowsCommitted)
            }
        }
        return nil
    }

    /// Ends the loop. All read records are already written.
    private func finish() {
        batch.clear()
        commitOffsets()
        closeAll()
        if !consumer.close() { log.warning("the group was not left in time; the session timeout ends it") }
    }
}
