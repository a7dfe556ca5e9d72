internal import JSON
internal import Kafka
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry

/// The rows of one partition as the transaction in hand makes them: over what is committed and not read back,
/// and over the view.
final class PartitionTable: GroupTable {
    /// A row as it was found or made.
    private struct Entry<Row> {
        var row: Row?
        var isChanged = false
    }

    let partition: Int32
    private let views: TopicViews
    private let reader: JSONReader
    private let log: Log
    private var groups: [KeyBytes: Entry<GroupRow>] = [:]
    private var sends: [KeyBytes: Entry<SeenSend>] = [:]
    /// Set where a newer program has written what stands here.
    private(set) var newerRecord: RecordError?

    init(of partition: Int32, in views: TopicViews, reader: JSONReader, log: Log) {
        self.partition = partition
        self.views = views
        self.reader = reader
        self.log = log
    }

    /// Rows that are in memory.
    var count: Int { groups.count + sends.count }

    func row(of key: GroupKey) throws(StoreError) -> GroupRow? {
        let key = KeyBytes(key.bytes)
        if let entry = groups[key] { return entry.row }
        let found: GroupRow? = try look(key)
        groups[key] = Entry(row: found)
        return found
    }

    func seen(_ send: String, app: String) throws(StoreError) -> SeenSend? {
        let key = KeyBytes(SeenSend.key(app: app, send: send))
        if let entry = sends[key] { return entry.row }
        let found: SeenSend? = try look(key)
        sends[key] = Entry(row: found)
        return found
    }

    func set(_ row: GroupRow, of key: GroupKey) {
        groups[KeyBytes(key.bytes)] = Entry(row: row, isChanged: true)
    }

    func set(_ seen: SeenSend, send: String, app: String) {
        sends[KeyBytes(SeenSend.key(app: app, send: send))] = Entry(row: seen, isChanged: true)
    }

    /// Adds the records of those that have changed, one for each.
    func write(to output: inout PlanOutput) {
        for (key, entry) in groups where entry.isChanged {
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
        for (key, entry) in sends where entry.isChanged {
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
    }

    private func look<Row: LiveActivity.Record>(_ key: KeyBytes) throws(StoreError) -> Row? {
        if let record = views.overlays[partition]?[key] {
            return record.isEmpty ? nil : unsafe record.withUnsafeBytes { unsafe decode($0) }
        }
        guard let view = views[partition] else { return nil }
        var found: Row?
        try view.read { picture throws(StoreError) in
            try view.look(key.bytes.span, picture) { value in
                found = unsafe value.withUnsafeBytes { unsafe decode($0) }
            }
        }
        return found
    }

    private func decode<Row: LiveActivity.Record>(_ bytes: UnsafeRawBufferPointer) -> Row? {
        do throws(RecordError) {
            return try unsafe Row.decode(bytes, with: reader)
        } catch {
            // The sum before the value is right, so this is what the topic holds.
            if case .unknownVersion = error { newerRecord = error }
            log.error(
                "a record of groups cannot be read; its sends begin a new one",
                .field("partition", partition), .field("error", error))
            return nil
        }
    }
}
