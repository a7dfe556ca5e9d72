internal import JSON
internal import Kafka
internal import Lifecycle
internal import Store
internal import Telemetry

/// The rows that a lane keeps of one topic, in the topic's form.
final class RowFile: LaneFile {
    var position: AppliedPosition
    private let mapping: any RowMapping.Type
    private let file: StateFile
    private let pending: PendingRows
    private var sweep = RetentionSweep()

    init(
        directory: String, mapping form: any RowMapping.Type, of place: TopicPartition, ageMax: Int64,
        cluster: String, limits: EnvironmentLimits, boot: BootID
    ) throws(StoreError) {
        let terms = ReuseConditions(
            schema: form.schema, origin: "\(cluster) \(place)", ageMaxMilliseconds: ageMax)
        let file = try StateFile(
            directory: directory, conditions: terms, tables: RowTable.allCases.map(\.rawValue),
            limits: limits, now: .now(),
            boot: boot)
        position = AppliedPosition(
            place,
            try file.read { view throws(StoreError) in
                try view.appliedProgress(ofTopic: place.topic, partition: place.partition)
            }
        )
        self.mapping = form
        self.file = file
        pending = PendingRows(file)
    }

    var beginning: OpeningState { file.openingState }
    /// The environment for threads that read beside the loop.
    var environment: LMDBEnvironment { file.environment }

    func apply(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> String {
        try mapping.apply(record, with: reader, into: pending)
    }

    func commit() throws {
        let applied = try position.confirmed(path: file.environment.path)
        let place = position.place
        try file.write { transaction throws(StoreError) in
            try pending.apply(to: &transaction)
            try transaction.setAppliedProgress(applied, ofTopic: place.topic, partition: place.partition)
        }
        position.markCommitted()
        pending.removeAll()
    }

    func deleteRows(before time: Int64) throws -> Int {
        try [RowTable.rows, .index].reduce(0) { count, table in
            try count + sweep.deleteNextPage(of: table.rawValue, isInOrder: false, in: file, before: time)
        }
    }

    func close() throws { try file.close() }

    func markUnusable(because reason: String) throws { try file.markUnusable(because: reason) }
}
