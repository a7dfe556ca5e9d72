internal import Identifiers
internal import Kafka
internal import RecordFormat
internal import Schedules
internal import Sends
internal import StageSupport
internal import Topics

/// The records that a transaction writes, ready to send: rows of `timers`, sends, progress and replies. The memory is
/// used again for every transaction.
struct SchedulerOutput: ~Copyable {
    /// The most records and bytes of one transaction. The command that reaches a limit is the transaction's
    /// last, and the next transaction takes the rest. Both limits are well below the producer's queue size.
    static let recordsMax = 20_000
    static let bytesMax = 16 << 20

    /// The topics, in the order in which their records are sent.
    enum OutputTopic: Int, CaseIterable {
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

    /// A row of `timers` that the transaction writes. "Entry" is its `DueEntry`.
    private struct Row {
        let key: HashedKey
        let partition: Int32
        /// Nil for a tombstone.
        let value: TransactionOutput.EncodedValue?
        /// The time of the row's new entry in due order. Nil for a tombstone.
        let dueAt: Int64?
        /// The time of the entry of the committed row. Nil for a new row.
        let previousDueAt: Int64?
    }

    /// The change of a row by a transaction that is committed.
    struct RowChange {
        let partition: Int32
        let key: HashedKey
        /// The encoded row. Empty for a tombstone.
        let record: [UInt8]
        /// The new entry in due order. Nil for a tombstone.
        let entry: DueEntry?
        /// The previous entry, if it is not valid any more.
        let outdated: DueEntry?
    }

    private let partitioner: KeyPartitioner
    private let replyPartitionCount: Int
    private var records = TransactionOutput(topics: OutputTopic.allCases.count)
    private var rows: [Row] = []

    init(partitioner: KeyPartitioner, replyPartitionCount: Int) {
        self.partitioner = partitioner
        self.replyPartitionCount = replyPartitionCount
    }

    var byteCount: Int { records.byteCount }
    var isFull: Bool { records.count >= Self.recordsMax || records.byteCount >= Self.bytesMax }

    mutating func removeAll() {
        records.removeAll()
        rows.removeAll(keepingCapacity: true)
    }

    /// Adds a changed row, or its tombstone if `row` is nil.
    mutating func add(
        _ row: (some JSONRecord)?, key: HashedKey, partition: Int32, dueAt: Int64?,
        previousDueAt: Int64?
    ) {
        let value = row.map { records.encode($0) }
        records.add(to: OutputTopic.timers.rawValue, partition: partition, key: key.bytes, value: value)
        rows.append(
            Row(key: key, partition: partition, value: value, dueAt: dueAt, previousDueAt: previousDueAt))
    }

    /// Adds the tombstone of a row that is due.
    mutating func addTombstone(for entry: DueEntry, partition: Int32) {
        records.add(to: OutputTopic.timers.rawValue, partition: partition, key: entry.key.bytes, value: nil)
        rows.append(
            Row(key: entry.key, partition: partition, value: nil, dueAt: nil, previousDueAt: entry.dueAt))
    }

    /// Adds the send of a timer that fires.
    mutating func add(_ send: Send) {
        guard let key = send.scopeKey?.bytes else { preconditionFailure("a send without a key was decoded") }
        records.add(
            to: OutputTopic.sends.rawValue, partition: partitioner.partition(of: key), key: key,
            value: records.encode(send))
    }

    /// Adds a report about a send: that it will not fire, or which schedule has fired it.
    mutating func add(_ progress: ProgressRecord) {
        let key = progress.recordKey
        records.add(
            to: OutputTopic.progress.rawValue, partition: partitioner.partition(of: key), key: key,
            value: records.encode(progress))
    }

    /// Adds a reply. If the partition does not exist, no gateway waits there and the reply is dropped.
    mutating func add(_ answer: GatewayReply.Outcome, to replyTo: ReplyAddress) {
        guard Int(replyTo.partition) < replyPartitionCount else { return }
        let reply = GatewayReply(request: replyTo.request, outcome: answer)
        records.add(
            to: OutputTopic.replies.rawValue, partition: replyTo.partition,
            key: RecordKey.join(replyTo.request),
            value: records.encode(reply))
    }

    /// Calls `body` for each changed row, after the commit.
    borrowing func forEachChange(_ body: (RowChange) -> Void) {
        for row in rows {
            let hasSameDueTime = row.dueAt == row.previousDueAt
            body(
                RowChange(
                    partition: row.partition, key: row.key,
                    record: row.value.map { records.bytes(of: $0) } ?? [],
                    entry: row.dueAt.map { DueEntry(dueAt: $0, key: row.key) },
                    outdated: hasSameDueTime
                        ? nil : row.previousDueAt.map { DueEntry(dueAt: $0, key: row.key) })
            )
        }
    }

    /// Sends the records. Returns false if the producer refused one.
    borrowing func send(
        by producer: TransactionalProducer, to topics: [Topic], onStep: (SchedulerStep) -> Void
    ) -> Bool {
        for topic in OutputTopic.allCases {
            guard records.send(topic: topic.rawValue, by: producer, to: topics[topic.rawValue]) else {
                return false
            }
            onStep(topic.sentStep)
        }
        return true
    }
}

extension SchedulerOutput.OutputTopic {
    /// The step after all records of the topic are sent.
    fileprivate var sentStep: SchedulerStep {
        switch self {
        case .timers: .timersSent
        case .sends: .sendsSent
        case .progress: .progressSent
        case .replies: .repliesSent
        }
    }
}
