internal import Kafka
internal import LiveActivity
internal import StageSupport
internal import Topics

/// The output of a scheduler's transaction. Its memory is used again for every transaction.
struct TimerOutput: ~Copyable {
    /// The most records and bytes of one transaction. The order that reaches a limit is the transaction's
    /// last, and the next transaction takes the rest. Both limits are well below the producer's queue size.
    static let recordsMax = 20_000
    static let bytesMax = 16 << 20

    /// The topics, in the order in which their records are sent.
    enum Target: Int, CaseIterable {
        case timers
        case sends
        case progress
        case replies

        var topic: TopicName {
            switch self {
            case .timers: .timers
            case .sends: .sendsTimed
            case .progress: .progress
            case .replies: .replies
            }
        }
    }

    /// A row that the transaction writes.
    private struct Row {
        let key: KeyBytes
        let partition: Int32
        /// Nil for a tombstone.
        let value: StagedRecords.Value?
        /// The time of the row's new entry in due order, and of its previous entry.
        let wakesAt: Int64?
        let before: Int64?
    }

    /// The change of a row that a commit made.
    struct Change {
        let partition: Int32
        let key: KeyBytes
        /// The encoded row. Empty for a tombstone.
        let record: [UInt8]
        let entry: DueEntry?
        /// The previous entry in due order, if it is not valid any more.
        let outdated: DueEntry?
    }

    private let lanes: Lanes
    private let repliesPartitions: Int
    private var records = StagedRecords(topics: Target.allCases.count)
    private var rows: [Row] = []

    init(lanes: Lanes, repliesPartitions: Int) {
        self.lanes = lanes
        self.repliesPartitions = repliesPartitions
    }

    var isEmpty: Bool { records.count == 0 }
    var isFull: Bool { records.count >= Self.recordsMax || records.byteCount >= Self.bytesMax }

    mutating func removeAll() {
        records.removeAll()
        rows.removeAll(keepingCapacity: true)
    }

    mutating func add(
        _ row: (some LiveActivity.Record)?, key: KeyBytes, partition: Int32, wakesAt: Int64?, before: Int64?
    ) {
        let value = row.map { records.write($0) }
        records.add(to: Target.timers.rawValue, partition: partition, key: key.bytes, value)
        rows.append(Row(key: key, partition: partition, value: value, wakesAt: wakesAt, before: before))
    }

    /// Adds the tombstone of a row that is due.
    mutating func remove(_ entry: DueEntry, partition: Int32) {
        records.add(to: Target.timers.rawValue, partition: partition, key: entry.key.bytes, nil)
        rows.append(Row(key: entry.key, partition: partition, value: nil, wakesAt: nil, before: entry.at))
    }

    mutating func add(_ send: Send) {
        guard let key = send.groupKey?.bytes else { preconditionFailure("a send without a key was decoded") }
        records.add(
            to: Target.sends.rawValue, partition: lanes.partition(of: key), key: key, records.write(send))
    }

    mutating func add(_ progress: Progress) {
        let key = RecordKey.join(progress.send)
        records.add(
            to: Target.progress.rawValue, partition: lanes.partition(of: key), key: key,
            records.write(progress))
    }

    /// Adds a reply. If the partition does not exist, no gateway waits there and the reply is dropped.
    mutating func add(_ answer: ScheduleReply.Answer, to replyTo: ScheduleOrder.ReplyTo) {
        guard Int(replyTo.partition) < repliesPartitions else { return }
        let reply = ScheduleReply(request: replyTo.request, answer)
        records.add(
            to: Target.replies.rawValue, partition: replyTo.partition, key: RecordKey.join(replyTo.request),
            records.write(reply))
    }

    borrowing func eachChange(_ body: (Change) -> Void) {
        for row in rows {
            let isKept = row.wakesAt == row.before
            body(
                Change(
                    partition: row.partition, key: row.key,
                    record: row.value.map { records.bytes(of: $0) } ?? [],
                    entry: row.wakesAt.map { DueEntry(at: $0, key: row.key) },
                    outdated: isKept ? nil : row.before.map { DueEntry(at: $0, key: row.key) }))
        }
    }

    /// Sends the records. Returns false if the producer refused one.
    borrowing func send(
        by producer: TransactionalProducer, to topics: [Topic], onStep: (SchedulerStep) -> Void
    ) -> Bool {
        for target in Target.allCases {
            guard records.send(target.rawValue, by: producer, to: topics[target.rawValue]) else {
                return false
            }
            onStep(target.sent)
        }
        return true
    }
}

extension TimerOutput.Target {
    fileprivate var sent: SchedulerStep {
        switch self {
        case .timers: .timersSent
        case .sends: .sendsSent
        case .progress: .progressSent
        case .replies: .repliesSent
        }
    }
}
