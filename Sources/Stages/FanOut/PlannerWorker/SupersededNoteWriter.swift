internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// A writer of notes about superseded sends. It sends them to the senders after the commit, outside a
/// transaction. The loop never waits for them: a note that finds no space in the queue is lost. A sender that misses a
/// note pushes an update that the phone ignores. Lost notes are repeated from the rows. Pinned to its loop's thread.
final class SupersededNoteWriter {
    /// The most notes that wait for the leader of `superseded`. Further notes are lost.
    static let queueNotesMax = 50_000
    /// The most kibibytes of these notes.
    private static let queueKibibytesMax = 16_384

    private let producer: Producer
    private let topic: Topic
    private let queueNotesMax: Int
    private var deliveries: [Delivery] = []
    private var lostNotes = LostNotes()
    private let lostNotesCounter: Counter

    init(
        kafka settings: KafkaSettings, layout: TopicLayout, log: Log, metrics: Metrics,
        queueNotesMax: Int = SupersededNoteWriter.queueNotesMax
    ) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = 1
        options.queueRecordsMax = queueNotesMax
        options.queueKibibytesMax = Self.queueKibibytesMax
        self.queueNotesMax = queueNotesMax
        producer = try Producer(
            settings: settings, options: options, name: "planner-notes", log: log, metrics: metrics)
        topic = try producer.topic(named: layout.name(of: .superseded))
        lostNotesCounter = metrics.counter(
            "flotilla_fan_out_lost_superseded_notes_total",
            help: "notes to senders that could not be written; they are repeated from the rows of groups")
    }

    var hasFatalError: Bool { producer.fatalError != nil }

    /// Whether the queue has space for the notes of one page of rows.
    var hasSpaceForPage: Bool { producer.outstandingRecords + GroupScan.rowsMax <= queueNotesMax }

    func send(_ note: SupersededVersions) {
        let (key, value) = (note.key, note.encoded())
        if producer.send(to: topic, partition: 0, key: key.span, value: value.span, tag: 0) == .queued {
            return
        }
        // Deliveries that were not collected may fill the queue.
        collectDeliveries()
        if producer.send(to: topic, partition: 0, key: key.span, value: value.span, tag: 0) != .queued {
            noteLoss(of: 1)
        }
    }

    /// Serves the producer. Returns whether lost notes are to be repeated now.
    func poll(at now: Instant) -> Bool {
        collectDeliveries()
        return lostNotes.mustRepeat(at: now, isQueueEmpty: producer.outstandingRecords == 0)
    }

    /// Flushes the notes in flight when the loop ends.
    func flush() {
        _ = producer.flush(withinMilliseconds: 1000, into: &deliveries)
        deliveries.removeAll()
    }

    private func collectDeliveries() {
        _ = producer.collectDeliveries(into: &deliveries)
        noteLoss(of: deliveries.count { !$0.isStored })
        deliveries.removeAll(keepingCapacity: true)
    }

    private func noteLoss(of count: Int) {
        if count == 0 { return }
        lostNotes.noteLoss()
        lostNotesCounter.add(count)
    }
}

/// The rule for repeating lost notes. A repetition reads all rows, so the next one waits until the queue is empty, and
/// for a while after the one before.
struct LostNotes {
    private static let pauseMilliseconds = 30_000

    private var isRepetitionNeeded = false
    private var nextRepetition: Instant?

    mutating func noteLoss() { isRepetitionNeeded = true }

    /// Whether all notes are to be repeated now. A call that returns true begins the next pause.
    mutating func mustRepeat(at now: Instant, isQueueEmpty: Bool) -> Bool {
        guard isRepetitionNeeded, isQueueEmpty, nextRepetition.map({ now >= $0 }) ?? true else {
            return false
        }
        isRepetitionNeeded = false
        nextRepetition = now.advanced(byMilliseconds: Self.pauseMilliseconds)
        return true
    }
}
