internal import JSON
internal import Kafka
internal import Lifecycle
internal import Store
internal import Telemetry

/// The rows that a lane keeps of one topic, in an LMDB file. A `RowMapping` makes them from the records.
final class RowFile: LaneFile {
    var position: AppliedPosition
    private let mapping: any RowMapping.Type
    private let file: StateFile
    private let pending: PendingRows
    private var sweep = RetentionSweep()

    init(
        directory: String, mapping: any RowMapping.Type, of partition: TopicPartition, ageMax: Int64,
        cluster: String, limits: EnvironmentLimits, boot: BootID
    ) throws(StoreError) {
        let conditions = ReuseConditions(
            schema: mapping.schema, origin: "\(cluster) \(partition)", ageMaxMilliseconds: ageMax)
        let file = try StateFile(
            directory: directory, conditions: conditions, tables: RowTable.allCases.map(\.rawValue),
            limits: limits, now: .now(),
            boot: boot)
        position = AppliedPosition(
            of: partition,
            stored: try file.read { view throws(StoreError) in
                try view.appliedProgress(ofTopic: partition.topic, partition: partition.partition)
            })
        self.mapping = mapping
        self.file = file
        pending = PendingRows(file)
    }

    var openingState: OpeningState { file.openingState }
    /// The environment for threads that read beside the loop.
    var environment: LMDBEnvironment { file.environment }

    func apply(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> RecordOutcome {
        try mapping.apply(record, with: reader, into: pending)
    }

    func commit() throws {
        let applied = try position.confirmed(path: file.environment.path)
        let partition = position.partition
        try file.write { transaction throws(StoreError) in
            try pending.apply(to: &transaction)
            try transaction.setAppliedProgress(
                applied, ofTopic: partition.topic, partition: partition.partition)
        }
        position.markCommitted()
        pending.removeAll()
    }

    func deleteRows(before time: Int64) throws -> DeletedRows {
        try [RowTable.rows, .index].reduce(DeletedRows()) { deleted, table in
            try deleted + sweep.deleteNextPage(of: table.rawValue, isInOrder: false, in: file, before: time)
        }
    }

    func close() throws { try file.close() }

    func markUnusable(because reason: String) throws { try file.markUnusable(because: reason) }
}
