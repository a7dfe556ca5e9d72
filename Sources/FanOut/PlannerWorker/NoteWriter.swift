internal import Kafka
internal import LiveActivity
internal import Telemetry
internal import Topics

/// Tells senders at once what is out of date, plainly, after the commit that made it so. Nobody waits for it: a
/// sender that does not hear of it pushes what a phone then ignores. What is lost here is said again when the
/// rows are walked through. Pinned to its loop's thread.
final class NoteWriter {
    private let producer: Producer
    private let topic: Topic
    private var deliveries: [Delivery] = []
    /// Some were not stored since it was last asked.
    private var hasLost = false

    init(_ settings: KafkaSettings, _ layout: TopicLayout, log: Log, metrics: Metrics) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = 1
        producer = try Producer(settings, options, name: "planner-notes", log: log, metrics: metrics)
        topic = try producer.topic(layout.name(.superseded))
    }

    var isRuined: Bool { producer.fatalError != nil }

    func send(_ note: SupersededNote) {
        let (key, value) = (note.key, note.encoded())
        while true {
            switch producer.send(to: topic, partition: 0, key: key.span, value: value.span, tag: 0) {
            case .queued: return
            case .full: collect(waitMilliseconds: 10)
            case .refused, .rebuild:
                hasLost = true
                return
            }
        }
    }

    /// Whether some were lost.
    func serve() -> Bool {
        collect(waitMilliseconds: 0)
        defer { hasLost = false }
        return hasLost
    }

    /// Those that are on their way, at the end.
    func finish() {
        _ = producer.flush(withinMilliseconds: 1000, into: &deliveries)
        deliveries.removeAll()
    }

    private func collect(waitMilliseconds: Int32) {
        _ = producer.collect(into: &deliveries, waitMilliseconds: waitMilliseconds)
        if deliveries.contains(where: { !$0.isStored }) { hasLost = true }
        deliveries.removeAll(keepingCapacity: true)
    }
}
