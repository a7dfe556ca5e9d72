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
    /// The limit on reports that wait here or for their acknowledgement.
    static let pendingMax = 10_000
    private static let tickMilliseconds = 50
    /// The pause before the cluster is tried again.
    private static let retryMilliseconds = 1_000
    /// The limit for reports in flight when the sink ends.
    private static let flushMilliseconds = 2_000

    private let settings: KafkaSettings
    private let topicName: String
    private let loop: EventLoop
    private let context: ServiceContext
    private var line: (producer: Producer, topic: Topic)?
    private var pending: [Report] = []
    /// The reports in flight, by tag.
    private var inFlight: [UInt64: Report] = [:]
    private var lastTag: UInt64 = 0
    private var deliveries: [Delivery] = []
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
        _ = line?.producer.flush(withinMilliseconds: Self.flushMilliseconds, into: &deliveries)
        processDeliveries()
        line = nil
    }

    private func tick() {
        if let producer = line?.producer {
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

    private func sendPending() {
        guard !isEnded else { return }
        var pause = Self.tickMilliseconds
        var sent = 0
        if !pending.isEmpty {
            if let line = connect() { sent = sendPending(with: line.producer, to: line.topic) }
            if sent == 0 { pause = Self.retryMilliseconds }
        }
        pending.removeFirst(sent)
        if !pending.isEmpty || !inFlight.isEmpty {
            timer?.schedule(at: loop.now.advanced(byMilliseconds: pause))
        }
    }

    /// Returns how many of the waiting reports were queued or refused.
    private func sendPending(with producer: Producer, to topic: Topic) -> Int {
        for (place, report) in pending.enumerated() {
            lastTag += 1
            let (key, value) = (report.key, report.encoded())
            switch producer.send(to: topic, key: key.span, value: value.span, tag: lastTag) {
            case .queued: inFlight[lastTag] = report
            case .full: return place
            case .refused(let code):
                counts.refused += 1
                logProblem(code.text)
            case .unusable(let code):
                reconnect(reason: code.text)
                return 0
            }
        }
        return pending.count
    }

    private func connect() -> (producer: Producer, topic: Topic)? {
        if let line { return line }
        do {
            let producer = try Producer(
                settings: settings, name: "simulated-phones", log: context.log, metrics: context.metrics)
            line = (producer, try producer.topic(named: topicName))
        } catch {
            logProblem("\(error)")
        }
        return line
    }

    /// Makes a new producer. The reports in flight may or may not be stored, so they are written again.
    private func reconnect(reason: String) {
        logProblem(reason)
        line = nil
        counts.retries += inFlight.count
        pending = inFlight.sorted { $0.key < $1.key }.map(\.value) + pending
        inFlight.removeAll()
    }

    private func logProblem(_ reason: String) {
        if lastProblem != reason {
            context.log.warning(
                "the phones' reports are not stored; check Kafka and the topic", .field("topic", topicName),
                .field("reason", reason))
        }
        lastProblem = reason
    }
}
