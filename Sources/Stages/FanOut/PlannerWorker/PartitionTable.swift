internal import JSON
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

/// The rows of one partition as the current transaction changes them, on top of the committed rows.
final class PartitionTable: GroupTable {
    /// A row that was read or made.
    private struct Entry<Row> {
        var row: Row?
        var isChanged = false
    }

    private let committed: CommittedRows
    private var groups: [KeyBytes: Entry<GroupRow>] = [:]
    private var sends: [KeyBytes: Entry<SeenSend>] = [:]

    init(of partition: Int32, in views: TopicViews, reader: JSONReader, log: Log) {
        committed = CommittedRows(
            of: partition, in: views, reader: reader, log: log,
            complaint: "a record of groups cannot be read; its sends start a new one")
    }

    var partition: Int32 { committed.partition }
    var newerRecord: RecordError? { committed.newerRecord }
    /// The number of rows in memory.
    var count: Int { groups.count + sends.count }

    func row(of key: GroupKey) throws(StoreError) -> GroupRow? {
        let key = KeyBytes(key.bytes)
        if let entry = groups[key] { return entry.row }
        let found: GroupRow? = try committed.row(key)
        groups[key] = Entry(row: found)
        return found
    }

    func seen(_ send: String, app: String) throws(StoreError) -> SeenSend? {
        let key = KeyBytes(SeenSend.key(app: app, send: send))
        if let entry = sends[key] { return entry.row }
        let found: SeenSend? = try committed.row(key)
        sends[key] = Entry(row: found)
        return found
    }

    func set(_ row: GroupRow, of key: GroupKey) {
        groups[KeyBytes(key.bytes)] = Entry(row: row, isChanged: true)
    }

    func set(_ seen: SeenSend, send: String, app: String) {
        sends[KeyBytes(SeenSend.key(app: app, send: send))] = Entry(row: seen, isChanged: true)
    }

    /// Adds one record for each changed row.
    func write(to output: inout PlanOutput) {
        for (key, entry) in groups where entry.isChanged {
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
        for (key, entry) in sends where entry.isChanged {
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
    }
}
