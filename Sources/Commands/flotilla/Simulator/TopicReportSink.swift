internal import APNsSimulator
internal import InstallationRecords
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Telemetry

/// A sink that writes the reports of simulated phones to a topic, as a customer's own service may do: with
/// keys, and acknowledged by all replicas. A report without acknowledgement is written again, so it can be
/// stored twice.
///
/// Confined to its loop.
final class TopicReportSink: ReportSink {
    /// The limit on reports that wait to be sent or for their acknowledgement.
    static let pendingMax = 10_000
    private static let tickMilliseconds = 50
    /// The pause before the cluster is tried again.
    private static let retryMilliseconds = 1_000
    /// The limit for reports in flight when the sink ends.
    private static let flushMilliseconds = 2_000

    private struct Connection {
        let producer: Producer
        let topic: Topic
    }

    private let settings: KafkaSettings
    private let topicName: String
    private let loop: EventLoop
    private let context: ServiceContext
    /// Nil before the first report and after the producer failed.
    private var connection: Connection?
    /// The reports that wait to be sent.
    private var pending: [Report] = []
    /// The reports in flight, by tag.
    private var inFlight: [UInt64: Report] = [:]
    private var lastTag: UInt64 = 0
    /// A buffer for `processDeliveries`.
    private var deliveries: [Delivery] = []
    /// Scheduled while reports wait or are in flight.
    private var timer: LoopTimer?
    private var isEnded = false
    private(set) var counts = ReportCounts()
    private(set) var lastProblem: String?

    init(settings: KafkaSettings, topic name: String, on loop: EventLoop, context: ServiceContext) {
        self.settings = settings
        self.topicName = name
        self.loop = loop
        self.context = context
        timer = LoopTimer(on: loop) { [weak self] in self?.tick() }
    }

    var freeCapacity: Int { max(0, Self.pendingMax - pending.count - inFlight.count) }

    func accept(_ reports: [Report]) {
        pending += reports
        sendPending()
    }

    func stop() {
        isEnded = true
        timer?.cancel()
        _ = connection?.producer.flush(withinMilliseconds: Self.flushMilliseconds, into: &deliveries)
        processDeliveries()
        connection = nil
    }

    private func tick() {
        if let producer = connection?.producer {
            while producer.collectDeliveries(into: &deliveries) {}
            processDeliveries()
            if let error = producer.fatalError { reconnect(reason: error.code.text) }
        }
        sendPending()
    }

    private func processDeliveries() {
        for delivery in deliveries {
            guard let report = inFlight.removeValue(forKey: delivery.tag) else { continue }
            switch delivery.outcome {
            case .stored: counts.accepted += 1
            case .notStored(let code), .unknown(let code):
                logProblem(code.text)
                counts.retries += 1
                pending.append(report)
            }
        }
        deliveries.removeAll(keepingCapacity: true)
    }

    /// Sends the waiting reports as far as possible, and schedules the next attempt.
    private func sendPending() {
        guard !isEnded else { return }
        var pauseMilliseconds = Self.tickMilliseconds
        if !pending.isEmpty {
            let sentCount = connect().map { enqueuePending(with: $0.producer, for: $0.topic) } ?? 0
            if sentCount == 0 { pauseMilliseconds = Self.retryMilliseconds }
        }
        if !pending.isEmpty || !inFlight.isEmpty {
            timer?.schedule(at: loop.now.advanced(byMilliseconds: pauseMilliseconds))
        }
    }

    /// Gives the waiting reports to the producer, in order, until its queue is full. Returns the number of reports
    /// that it queued or refused, which do not wait any longer.
    private func enqueuePending(with producer: Producer, for topic: Topic) -> Int {
        var sentCount = 0
        var failure: String?
        sending: for report in pending {
            lastTag += 1
            let (key, value) = (report.key, report.encoded())
            switch producer.send(to: topic, key: key.span, value: value.span, tag: lastTag) {
            case .queued: inFlight[lastTag] = report
            case .full: break sending
            case .refused(let code):
                counts.refused += 1
                logProblem(code.text)
            case .unusable(let code):
                failure = code.text
                break sending
            }
            sentCount += 1
        }
        // Before `reconnect`, which puts the reports in flight in front of the waiting ones.
        pending.removeFirst(sentCount)
        if let failure { reconnect(reason: failure) }
        return sentCount
    }

    /// Returns the connection, or makes it. Returns nil if that fails.
    private func connect() -> Connection? {
        if let connection { return connection }
        do {
            let producer = try Producer(
                settings: settings, name: "simulated-phones", log: context.log, metrics: context.metrics)
            connection = Connection(producer: producer, topic: try producer.topic(named: topicName))
        } catch {
            logProblem("\(error)")
        }
        return connection
    }

    /// Drops the producer; the next `sendPending` makes another. The reports in flight may or may not be
    /// stored, so they are written again.
    private func reconnect(reason: String) {
        logProblem(reason)
        connection = nil
        counts.retries += inFlight.count
        pending = inFlight.sorted { $0.key < $1.key }.map(\.value) + pending
        inFlight.removeAll()
    }

    /// Logs a problem if it is not the previous one.
    private func logProblem(_ reason: String) {
        if lastProblem != reason {
            context.log.warning(
                "the phones' reports are not stored; check Kafka and the topic", .field("topic", topicName),
                .field("reason", reason))
        }
        lastProblem = reason
    }
}
