internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// Insight's one thread: reads the topics of its lanes as a member of the group, and enters them in the lanes'
/// files. The files say how far they were read, so what is read again after a kill or a change of owners
/// counts once; what the group has committed is for `flotilla lag` alone.
///
/// There is one repair for everything that goes wrong with a lane: its files are closed, opened again, and read
/// on from where they stand.
final class InsightLoop: StageLoop {
    static let group = "insight"
    /// How long a turn waits for records when there is nothing else to do; the limit of a stop's delay.
    static let idleMilliseconds: Int32 = 250
    /// How long a turn waits when a lane has to be opened again.
    static let troubleMilliseconds: Int32 = 20
    static let upkeepMilliseconds = 1000
    /// How long a lane whose files could not be opened or written is left alone.
    static let retryMilliseconds = 1000

    let settings: InsightSettings
    let layout: TopicLayout
    let state: LoopState
    let log: Log
    let metrics: InsightMetrics
    let onStep: (InsightStep) -> Void
    let consumer: Consumer
    let cluster: String
    let boot: BootID
    let directory: String
    let reader = JSONReader()

    var batch: RecordBatch
    /// Those whose files are open.
    var lanes: [Int32: LaneFiles] = [:]
    /// What the group offers, as long as it is not answered, and from when on that may be tried again.
    var offered: [Kafka.TopicPartition]?
    var nextOffer = Instant.now()
    /// Those that are ours, and are not open yet, and from when on opening may be tried.
    var closed: [Int32: Instant] = [:]
    /// Why a lane is closed, for a person.
    var troubles: [Int32: String] = [:]
    /// What the group was last told.
    var committed: [Kafka.TopicPartition: Int64] = [:]
    /// What whoever answers questions reads.
    let open: OpenLanes
    /// When the cluster last failed to answer: until it is sure to be there again, what was read is not the end.
    var failedAt: Instant?
    private var nextUpkeep = Instant.now()

    init(
        _ settings: InsightSettings, in environment: StageEnvironment, state: LoopState, log: Log,
        metrics: Metrics, open: OpenLanes, onStep: @escaping (InsightStep) -> Void
    ) throws {
        self.settings = settings
        self.state = state
        self.log = log
        self.open = open
        self.onStep = onStep
        self.metrics = InsightMetrics(metrics)
        layout = environment.layout
        boot = try BootID.current()
        directory = environment.stateDirectory(of: InsightService.name)
        batch = RecordBatch(
            recordsMax: settings.batchRecordsMax, bytesMax: settings.batchBytesMax, countsHeaders: true)
        let topics = InsightTopic.allCases.map { environment.layout.name($0.name) }
        var options = ConsumerOptions(
            .group(
                layout.prefix + Self.group, instanceID: environment.identity(of: InsightService.name),
                topics: topics))
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.prefetchRecordsMax = settings.prefetchRecordsMax
        options.fetchKibibytesMax = settings.fetchKibibytesMax
        options.partitionKibibytesMax = settings.partitionKibibytesMax
        consumer = try Consumer(
            environment.cluster.settings, options, name: "insight", log: log, metrics: metrics)
        guard let cluster = consumer.clusterID(withinMilliseconds: StageTransaction.startMilliseconds) else {
            throw StageFailure.client("the cluster did not tell its id; check kafka.brokers")
        }
        self.cluster = cluster
    }

    /// Runs until it is told to stop, or cannot go on.
    func run() throws {
        defer { state.setObstacles(["stopped"]) }
        while !state.mustStop { try turn() }
        finish()
    }

    private func turn() throws {
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        // Records are true whoever owns the lane by now; files that are still open may have them.
        if !batch.isEmpty {
            enter(batch)
            batch.clear()
        }
        for event in events { try hear(event) }
        settle()
        try answerOffer()
        openNext()
        let now = Instant.now()
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            upkeep()
        }
    }

    private var waitMilliseconds: Int32 {
        if offered != nil { return Self.troubleMilliseconds }
        if closed.isEmpty { return Self.idleMilliseconds }
        let now = Instant.now()
        return closed.values.contains { $0 <= now } ? 0 : Self.troubleMilliseconds
    }

    // MARK: Records

    private func enter(_ batch: borrowing RecordBatch) {
        let began = Instant.now()
        metrics.inFlight.set(Double(batch.count))
        var outcomes: [InsightTopic: [String: Int]] = [:]
        var oldest = Int64.max
        for index in 0..<batch.count {
            let partition = batch[index].partition
            guard let lane = lanes[partition], let topic = InsightTopic(rawValue: batch[index].topic) else {
                continue
            }
            if let time = batch[index].timestamp { oldest = min(oldest, time) }
            do {
                let outcome = try lane.hear(batch[index], of: topic, with: reader)
                outcomes[topic, default: [:]][outcome, default: 0] += 1
            } catch {
                reopen(partition, FileTrouble(error, of: topic))
            }
        }
        settle()
        for (topic, counts) in outcomes {
            for (outcome, count) in counts {
                metrics.records(topic.name.rawValue, outcome).add(count)
                if outcome == "unreadable" {
                    log.warning(
                        "records cannot be read and are left out of the figures; is this process older than the others?",
                        .field("topic", topic.name.rawValue), .field("count", count))
                }
            }
        }
        metrics.inFlight.set(0)
        if oldest != .max {
            metrics.oldestSeconds.set(Double(max(0, WallTime.now().milliseconds - oldest)) / 1000)
        }
        metrics.batchSeconds.observe(Instant.now().seconds(since: began))
        onStep(.batchEntered)
    }

    /// What was taken is on disk, with the offsets it stands for.
    private func settle() {
        for lane in lanes.values where lane.isTouched {
            if let (topic, error) = settle(lane) {
                reopen(lane.partition, FileTrouble(error, of: topic))
            } else {
                lane.settled()
                publish(lane)
            }
        }
    }

    /// - Returns: what kept a file from being written.
    private func settle(_ lane: LaneFiles) -> (InsightTopic, any Error)? {
        for topic in InsightTopic.allCases {
            do { try lane.files[topic.rawValue].settle() } catch { return (topic, error) }
            switch topic {
            case .receipts: onStep(.receiptsEntered)
            case .events: onStep(.eventsEntered)
            case .progress, .groups, .installations, .timers, .audit: onStep(.rowsEntered)
            }
        }
        return nil
    }

    /// The end in order: what was read is entered, so there is nothing to finish.
    private func finish() {
        batch.clear()
        commit()
        closeAll()
        if !consumer.close() { log.warning("the group could not be left in time; it finds out by itself") }
    }
}
