internal import JSON
internal import Kafka
internal import Store
internal import Telemetry

/// The rows that a lane keeps of one topic, in the topic's form.
final class RowFile: LaneFile {
    var mark: ReadMark
    private let form: any RowForm.Type
    private let file: StateFile
    private let pending: PendingRows
    private var sweeps = Sweeps()

    init(
        _ directory: String, _ form: any RowForm.Type, of place: TopicPartition, ageMax: Int64,
        cluster: String, limits: Limits, boot: BootID
    ) throws(StoreError) {
        let terms = Terms(
            schema: form.schema, origin: "\(cluster) \(place)", ageMaxMilliseconds: ageMax)
        let file = try StateFile(
            directory, terms, tables: RowTable.allCases.map(\.rawValue), limits: limits, now: .now(),
            boot: boot)
        mark = ReadMark(
            place, try file.read { view throws(StoreError) in try view.applied(place.topic, place.partition) }
        )
        self.form = form
        self.file = file
        pending = PendingRows(file)
    }

    var beginning: Beginning { file.beginning }
    /// The environment for threads that read beside the loop.
    var environment: Environment { file.environment }

    func hear(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> String {
        try form.enter(record, with: reader, into: pending)
    }

    func settle() throws {
        let taken = try mark.confirmed(file.environment.path)
        let place = mark.place
        try file.write { transaction throws(StoreError) in
            try pending.apply(to: &transaction)
            try transaction.setApplied(taken, of: place.topic, place.partition)
        }
        mark.entered()
        pending.removeAll()
    }

    func forget(before time: Int64) throws -> Int {
        try [RowTable.rows, .index].reduce(0) { count, table in
            try count + sweeps.sweep(table.rawValue, isInOrder: false, in: file, before: time)
        }
    }

    func close() throws { try file.close() }

    func condemn(_ reason: String) throws { try file.condemn(reason) }
}
