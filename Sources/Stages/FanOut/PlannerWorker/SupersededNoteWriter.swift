internal import Kafka
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// A writer of notes about superseded sends. It sends them to the senders after the commit, outside a
/// transaction. The loop does not wait for them. A sender that misses a note pushes an update that the phone
/// ignores. Lost notes are repeated in the next walk through the rows. Pinned to its loop's thread.
final class SupersededNoteWriter {
    private let producer: Producer
    private let topic: Topic
    private var deliveries: [Delivery] = []
    /// Whether a note was lost since the last call of `serve`.
    private var hasLostNotes = false

    init(kafka settings: KafkaSettings, layout: TopicLayout, log: Log, metrics: Metrics) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = 1
        producer = try Producer(
            settings: settings, options: options, name: "planner-notes", log: log, metrics: metrics)
        topic = try producer.topic(named: layout.name(of: .superseded))
    }

    var hasFatalError: Bool { producer.fatalError != nil }

    func send(_ note: SupersededVersions) {
        let (key, value) = (note.key, note.encoded())
        while true {
            switch producer.send(to: topic, partition: 0, key: key.span, value: value.span, tag: 0) {
            case .queued: return
            case .full: collect(waitMilliseconds: 10)
            case .refused, .unusable:
                hasLostNotes = true
                return
            }
        }
    }

    /// Serves the producer. Returns whether notes were lost since the last call.
    func poll() -> Bool {
        collect(waitMilliseconds: 0)
        defer { hasLostNotes = false }
        return hasLostNotes
    }

    /// Flushes the notes in flight when the loop ends.
    func flush() {
        _ = producer.flush(withinMilliseconds: 1000, into: &deliveries)
        deliveries.removeAll()
    }

    private func collect(waitMilliseconds: Int32) {
        _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: waitMilliseconds)
        if deliveries.contains(where: { !$0.isStored }) { hasLostNotes = true }
        deliveries.removeAll(keepingCapacity: true)
    }
}
