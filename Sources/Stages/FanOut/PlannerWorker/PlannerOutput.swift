internal import Identifiers
internal import Kafka
internal import RecordFormat
internal import Schedules
internal import Sends
internal import StageSupport
internal import Topics

/// The output of a planner's transaction. Its memory is used again for every transaction.
struct PlannerOutput: ~Copyable {
    /// The most records and bytes of one transaction. The send that reaches a limit is the transaction's
    /// last, and the next transaction takes the rest. Both limits are well below the producer's queue size.
    static let recordsMax = 40_000
    static let bytesMax = 24 << 20

    /// The topics, in the order in which their records are sent.
    enum OutputTopic: Int, CaseIterable {
        case groups
        case expansions
        case progress
        case schedules

        var topic: TopicName {
            switch self {
            case .groups: .groups
            // Each lane begins the records of this topic in their order.
            case .expansions: .expansionsUrgent
            case .progress: .progress
            case .schedules: .schedulesAuto
            }
        }
    }

    /// A row that the transaction writes, for the overlay.
    private struct Row {
        let key: HashedKey
        let partition: Int32
        /// Nil for a tombstone.
        let value: TransactionOutput.EncodedValue?
    }

    private let partitioner: LanePartitioner
    private var records = TransactionOutput(topics: OutputTopic.allCases.count)
    private var rows: [Row] = []

    init(partitioner: LanePartitioner) { self.partitioner = partitioner }

    var isEmpty: Bool { records.count == 0 }
    var isFull: Bool { records.count >= Self.recordsMax || records.byteCount >= Self.bytesMax }
    var byteCount: Int { records.byteCount }
    func count(of target: OutputTopic) -> Int { records.count(of: target.rawValue) }

    mutating func removeAll() {
        records.removeAll()
        rows.removeAll(keepingCapacity: true)
    }

    mutating func add(_ row: some JSONRecord, key: HashedKey, partition: Int32) {
        let value = records.encode(row)
        records.add(to: OutputTopic.groups.rawValue, partition: partition, key: key.bytes, value: value)
        rows.append(Row(key: key, partition: partition, value: value))
    }

    /// Adds the tombstone of a row that can be forgotten.
    mutating func addTombstone(for key: HashedKey, partition: Int32) {
        records.add(to: OutputTopic.groups.rawValue, partition: partition, key: key.bytes, value: nil)
        rows.append(Row(key: key, partition: partition, value: nil))
    }

    mutating func add(_ plan: Plan) {
        for part in plan.requests where part.lanes != .none {
            let value = records.encode(part.request)
            for lane in part.lanes.lanes(of: partitioner.laneCount) {
                records.add(to: OutputTopic.expansions.rawValue, partition: Int32(lane), value: value)
            }
        }
        for progress in plan.progress {
            let key = progress.recordKey
            records.add(
                to: OutputTopic.progress.rawValue, partition: partition(of: key), key: key,
                value: records.encode(progress)
            )
        }
        if let schedule = plan.autoEnd {
            let key = schedule.key
            records.add(
                to: OutputTopic.schedules.rawValue, partition: partition(of: key), key: key,
                value: records.encode(schedule))
        }
    }

    private func partition(of key: [UInt8]) -> Int32 { Int32(partitioner.partition(of: key)) }

    /// Calls `body` with each written row. An empty record is a tombstone.
    borrowing func forEachRow(_ body: (_ partition: Int32, _ key: HashedKey, _ record: [UInt8]) -> Void) {
        for row in rows { body(row.partition, row.key, row.value.map { records.bytes(of: $0) } ?? []) }
    }

    /// Sends the records. Returns false if the producer refused one.
    borrowing func send(
        by producer: TransactionalProducer, to topics: [Topic], onStep: (PlannerStep) -> Void
    ) -> Bool {
        for target in OutputTopic.allCases {
            guard records.send(topic: target.rawValue, by: producer, to: topics[target.rawValue]) else {
                return false
            }
            onStep(target.sentStep)
        }
        return true
    }
}

extension PlannerOutput.OutputTopic {
    fileprivate var sentStep: PlannerStep {
        switch self {
        case .groups: .groupsSent
        case .expansions: .expansionsSent
        case .progress: .progressSent
        case .schedules: .schedulesSent
        }
    }
}
