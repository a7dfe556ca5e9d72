internal import APNsSimulator
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// A sink that writes the reports of simulated phones to a topic, as a customer's own service may do: with
/// keys, and acknowledged by all replicas. A report without acknowledgement is written again, so it can be
/// stored twice.
///
/// Confined to its loop.
final class TopicReports: ReportSink {
    /// The limit on reports that wait here or for their acknowledgement.
    static let waitingMax = 10_000
    private static let tickMilliseconds = 50
    /// The pause before the cluster is tried again.
    private static let pauseMilliseconds = 1_000
    /// The limit for reports in flight when the sink ends.
    private static let flushMilliseconds = 2_000

    private let settings: KafkaSettings
    private let name: String
    private let loop: EventLoop
    private let context: ServiceContext
    private var line: (producer: Producer, topic: Topic)?
    private var waiting: [Report] = []
    /// The reports in flight, by tag.
    private var open: [UInt64: Report] = [:]
    private var lastTag: UInt64 = 0
    private var deliveries: [Delivery] = []
    private var timer: LoopTimer?
    private var isEnded = false
    private(set) var counts = ReportCounts()
    private(set) var lastProblem: String?

    init(_ settings: KafkaSettings, topic name: String, on loop: EventLoop, _ context: ServiceContext) {
        self.settings = settings
        self.name = name
        self.loop = loop
        self.context = context
        timer = LoopTimer(on: loop) { [weak self] in self?.tick() }
    }

    var freeCapacity: Int { max(0, Self.waitingMax - waiting.count - open.count) }

    func accept(_ reports: [Report]) {
        waiting += reports
        send()
    }

    func stop() {
        isEnded = true
        timer?.cancel()
        _ = line?.producer.flush(withinMilliseconds: Self.flushMilliseconds, into: &deliveries)
        settle()
        line = nil
    }

    private func tick() {
        if let producer = line?.producer {
            while producer.collectDeliveries(into: &deliveries) {}
            settle()
            if let error = producer.fatalError { startOver(error.code.text) }
        }
        send()
    }

    private func settle() {
        for delivery in deliveries {
            guard let report = open.removeValue(forKey: delivery.tag) else { continue }
            switch delivery.outcome {
            case .stored: counts.accepted += 1
            case .notStored(let code), .unknown(let code):
                tell(code.text)
                counts.retries += 1
                waiting.append(report)
            }
        }
        deliveries.removeAll(keepingCapacity: true)
    }

    private func send() {
        guard !isEnded else { return }
        var pause = Self.tickMilliseconds
        var sent = 0
        if !waiting.isEmpty {
            if let line = connected() { sent = send(by: line.producer, to: line.topic) }
            if sent == 0 { pause = Self.pauseMilliseconds }
        }
        waiting.removeFirst(sent)
        if !waiting.isEmpty || !open.isEmpty { timer?.schedule(at: loop.now.advanced(byMilliseconds: pause)) }
    }

    /// Returns how many of the waiting reports were queued or refused.
    private func send(by producer: Producer, to topic: Topic) -> Int {
        for (place, report) in waiting.enumerated() {
            lastTag += 1
            let (key, value) = (report.key, report.encoded())
            switch producer.send(to: topic, key: key.span, value: value.span, tag: lastTag) {
            case .queued: open[lastTag] = report
            case .full: return place
            case .refused(let code):
                counts.refused += 1
                tell(code.text)
            case .rebuild(let code):
                startOver(code.text)
                return 0
            }
        }
        return waiting.count
    }

    private func connected() -> (producer: Producer, topic: Topic)? {
        if let line { return line }
        do {
            let producer = try Producer(
                settings: settings, name: "simulated-phones", log: context.log, metrics: context.metrics)
            line = (producer, try producer.topic(named: name))
        } catch {
            tell("\(error)")
        }
        return line
    }

    /// Makes a new producer. The reports in flight may or may not be stored, so they are written again.
    private func startOver(_ reason: String) {
        tell(reason)
        line = nil
        counts.retries += open.count
        waiting = open.sorted { $0.key < $1.key }.map(\.value) + waiting
        open.removeAll()
    }

    private func tell(_ reason: String) {
        if lastProblem != reason {
            context.log.warning(
                "the phones' reports are not stored; check Kafka and the topic", .field("topic", name),
                .field("reason", reason))
        }
        lastProblem = reason
    }
}
