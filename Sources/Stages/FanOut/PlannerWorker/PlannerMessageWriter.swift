internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Telemetry
internal import Topics

/// A writer of the planner's messages: notes to senders about superseded sends, and replies to gateways. It sends them
/// after the commit, outside a transaction. The loop never waits for them: a message that finds no space in the queue
/// is lost. A sender that misses a note pushes an update that the phone ignores, and lost notes are repeated from the
/// rows. A gateway that misses a reply answers without the verdict. Pinned to its loop's thread.
final class PlannerMessageWriter {
    /// The most messages that wait for the leaders of `superseded` and `replies`. Further messages are lost.
    static let queueMessagesMax = 50_000
    /// The most kibibytes of these messages.
    private static let queueKibibytesMax = 16_384

    /// The kind of a message, as the tag of its record.
    private enum Kind: UInt64 {
        case note
        case reply
    }

    private let producer: Producer
    private let notes: Topic
    private let replies: Topic
    private let replyPartitionCount: Int
    private let queueMessagesMax: Int
    private var deliveries: [Delivery] = []
    private var lostNotes = LostNotes()
    private let lostNotesCounter: Counter

    init(
        kafka settings: KafkaSettings, layout: TopicLayout, log: Log, metrics: Metrics,
        queueMessagesMax: Int = PlannerMessageWriter.queueMessagesMax
    ) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = 1
        options.queueRecordsMax = queueMessagesMax
        options.queueKibibytesMax = Self.queueKibibytesMax
        self.queueMessagesMax = queueMessagesMax
        producer = try Producer(
            settings: settings, options: options, name: "planner-notes", log: log, metrics: metrics)
        notes = try producer.topic(named: layout.name(of: .superseded))
        replies = try producer.topic(named: layout.name(of: .replies))
        replyPartitionCount = layout.partitionCount(of: .replies)
        lostNotesCounter = metrics.counter(
            "flotilla_fan_out_lost_superseded_notes_total",
            help: "notes to senders that could not be written; they are repeated from the rows of groups")
    }

    var hasFatalError: Bool { producer.fatalError != nil }

    /// Whether the queue has space for the notes of one page of rows.
    var hasSpaceForPage: Bool { producer.outstandingRecords + ViewScan.rowsMax <= queueMessagesMax }

    func send(_ note: SupersededVersions) {
        if !send(note.encoded(), key: note.key, to: notes, partition: 0, as: .note) { noteLoss(of: 1) }
    }

    /// Sends a reply. If the partition does not exist, no gateway waits there and the reply is dropped.
    func send(_ reply: Plan.Reply) {
        guard Int(reply.address.partition) < replyPartitionCount else { return }
        let record = GatewayReply(request: reply.address.request, outcome: .verdict(reply.verdict))
        _ = send(
            record.encoded(), key: RecordKey.join(record.request), to: replies,
            partition: reply.address.partition, as: .reply)
    }

    /// Returns false if the record finds no space in the queue.
    private func send(
        _ value: [UInt8], key: [UInt8], to topic: Topic, partition: Int32, as kind: Kind
    ) -> Bool {
        let tag = kind.rawValue
        if producer.send(to: topic, partition: partition, key: key.span, value: value.span, tag: tag)
            == .queued
        {
            return true
        }
        // Deliveries that were not collected may fill the queue.
        collectDeliveries()
        return producer.send(to: topic, partition: partition, key: key.span, value: value.span, tag: tag)
            == .queued
    }

    /// Serves the producer. Returns whether the caller must repeat all notes now, because some were lost.
    func poll(at now: Instant) -> Bool {
        collectDeliveries()
        return lostNotes.beginRepetitionIfDue(at: now, isQueueEmpty: producer.outstandingRecords == 0)
    }

    /// Flushes the notes in flight when the loop ends.
    func flush() {
        _ = producer.flush(withinMilliseconds: 1000, into: &deliveries)
        deliveries.removeAll()
    }

    private func collectDeliveries() {
        _ = producer.collectDeliveries(into: &deliveries)
        noteLoss(of: deliveries.count { !$0.isStored && $0.tag == Kind.note.rawValue })
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

    /// Returns whether all notes must be repeated now. If so, the loss is repaired, and the pause begins.
    mutating func beginRepetitionIfDue(at now: Instant, isQueueEmpty: Bool) -> Bool {
        guard isRepetitionNeeded, isQueueEmpty, nextRepetition.map({ now >= $0 }) ?? true else {
            return false
        }
        isRepetitionNeeded = false
        nextRepetition = now.advanced(byMilliseconds: Self.pauseMilliseconds)
        return true
    }
}
