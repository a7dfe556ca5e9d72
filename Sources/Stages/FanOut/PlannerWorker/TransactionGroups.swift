internal import JSON
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry

/// The rows of one partition as the current transaction changes them, on top of the committed rows.
final class TransactionGroups: GroupTable {
    /// A row that was read or made.
    private struct Entry<Row> {
        var row: Row?
        var isChanged = false
    }

    private let committed: CommittedRows
    private var groups: [HashedKey: Entry<GroupRow>] = [:]
    private var seenSends: [HashedKey: Entry<SendIdempotencyRow>] = [:]
    private var subscribedGroups: [String: Entry<SubscribedGroups>] = [:]

    init(partition: Int32, views: TopicViews, reader: JSONReader, log: Log) {
        committed = CommittedRows(
            partition: partition, views: views, reader: reader, log: log,
            unreadableRowMessage: "a record of groups cannot be read; its sends start a new one")
    }

    var partition: Int32 { committed.partition }
    var newerRecord: RecordDecodingError? { committed.newerRecord }
    /// The number of rows in memory.
    var count: Int { groups.count + seenSends.count }
    /// The encoded size of the rows that the transaction has read.
    var readByteCount: Int { committed.readByteCount }

    func row(of key: ScopeKey) throws(StoreError) -> GroupRow? {
        let key = HashedKey(key.bytes)
        if let entry = groups[key] { return entry.row }
        let found: GroupRow? = try committed.row(for: key)
        groups[key] = Entry(row: found)
        return found
    }

    func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow? {
        let key = HashedKey(SendIdempotencyRow.key(app: app, send: send))
        if let entry = seenSends[key] { return entry.row }
        let found: SendIdempotencyRow? = try committed.row(for: key)
        seenSends[key] = Entry(row: found)
        return found
    }

    func subscribedGroups(of app: String) throws(StoreError) -> SubscribedGroups? {
        if let entry = subscribedGroups[app] { return entry.row }
        let found: SubscribedGroups? = try committed.row(for: HashedKey(SubscribedGroups.key(app: app)))
        subscribedGroups[app] = Entry(row: found)
        return found
    }

    func set(_ row: GroupRow, of key: ScopeKey) {
        groups[HashedKey(key.bytes)] = Entry(row: row, isChanged: true)
    }

    func set(_ seen: SendIdempotencyRow, send: String, app: String) {
        seenSends[HashedKey(SendIdempotencyRow.key(app: app, send: send))] = Entry(row: seen, isChanged: true)
    }

    func set(_ groups: SubscribedGroups, of app: String) {
        subscribedGroups[app] = Entry(row: groups, isChanged: true)
    }

    /// Adds one record for each changed row.
    func write(to output: inout PlannerOutput) {
        for (key, entry) in groups where entry.isChanged {
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
        for (key, entry) in seenSends where entry.isChanged {
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
        for (app, entry) in subscribedGroups where entry.isChanged {
            let key = HashedKey(SubscribedGroups.key(app: app))
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
    }
}
