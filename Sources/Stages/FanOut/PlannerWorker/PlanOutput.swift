internal import Kafka
internal import LiveActivity
internal import StageSupport
internal import Topics

/// The output of a planner's transaction. Its memory is used again for every transaction.
struct PlanOutput: ~Copyable {
    /// The most records and bytes of one transaction. The send that reaches a limit is the transaction's
    /// last, and the next transaction takes the rest. Both limits are well below the producer's queue size.
    static let recordsMax = 40_000
    static let bytesMax = 24 << 20

    /// The topics, in the order in which their records are sent.
    enum Target: Int, CaseIterable {
        case groups
        case expansionsUrgent
        case expansions
        case progress
        case schedules

        var topic: TopicName {
            switch self {
            case .groups: .groups
            case .expansionsUrgent: .expansionsUrgent
            case .expansions: .expansions
            case .progress: .progress
            case .schedules: .schedulesAuto
            }
        }
    }

    /// A row that the transaction writes, for the overlay.
    private struct Row {
        let key: KeyBytes
        let partition: Int32
        /// Nil for a tombstone.
        let value: StagedRecords.Value?
    }

    private let lanes: Lanes
    private var records = StagedRecords(topics: Target.allCases.count)
    private var rows: [Row] = []

    init(lanes: Lanes) { self.lanes = lanes }

    var isEmpty: Bool { records.count == 0 }
    var isFull: Bool { records.count >= Self.recordsMax || records.byteCount >= Self.bytesMax }
    func count(_ target: Target) -> Int { records.count(of: target.rawValue) }

    mutating func removeAll() {
        records.removeAll()
        rows.removeAll(keepingCapacity: true)
    }

    mutating func add(_ row: some LiveActivity.Record, key: KeyBytes, partition: Int32) {
        let value = records.write(row)
        records.add(to: Target.groups.rawValue, partition: partition, key: key.bytes, value)
        rows.append(Row(key: key, partition: partition, value: value))
    }

    /// Adds the tombstone of a row that can be forgotten.
    mutating func addTombstone(_ key: KeyBytes, partition: Int32) {
        records.add(to: Target.groups.rawValue, partition: partition, key: key.bytes, nil)
        rows.append(Row(key: key, partition: partition, value: nil))
    }

    mutating func add(_ plan: Plan) {
        for part in plan.parts {
            add(part.expansion, to: part.isUrgent ? .expansionsUrgent : .expansions, lane: part.lane)
        }
        if let stop = plan.stop {
            let owner = stop.key.recipient
            add(stop, to: .expansionsUrgent, lane: owner.map { lanes.lane(of: $0, app: stop.key.app) })
        }
        for progress in plan.progress {
            let key = RecordKey.join(progress.send)
            records.add(
                to: Target.progress.rawValue, partition: partition(of: key), key: key, records.write(progress)
            )
        }
        if let schedule = plan.autoEnd {
            let key = schedule.key
            records.add(
                to: Target.schedules.rawValue, partition: partition(of: key), key: key,
                records.write(schedule))
        }
    }

    /// - Parameter lane: the lane of the record. Nil for every lane.
    private mutating func add(_ record: some LiveActivity.Record, to target: Target, lane: Int?) {
        let value = records.write(record)
        let chosen = lane.map { $0..<$0 + 1 } ?? 0..<lanes.count
        for lane in chosen { records.add(to: target.rawValue, partition: Int32(lane), value) }
    }

    private func partition(of key: [UInt8]) -> Int32 { Int32(lanes.partition(of: key)) }

    /// Calls `body` with each written row. An empty record is a tombstone.
    borrowing func eachRow(_ body: (_ partition: Int32, _ key: KeyBytes, _ record: [UInt8]) -> Void) {
        for row in rows { body(row.partition, row.key, row.value.map { records.bytes(of: $0) } ?? []) }
    }

    /// Sends the records. Returns false if the producer refused one.
    borrowing func send(
        by producer: TransactionalProducer, to topics: [Topic], onStep: (PlannerStep) -> Void
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

extension PlanOutput.Target {
    fileprivate var sent: PlannerStep {
        switch self {
        case .groups: .groupsSent
        case .expansionsUrgent: .urgentSent
        case .expansions: .expansionsSent
        case .progress: .progressSent
        case .schedules: .schedulesSent
        }
    }
}
