internal import JSON
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry

/// The rows of one partition as the current transaction changes them, on top of the committed rows.
final class TransactionGroups: GroupTable {
    private let committed: CommittedRows
    private var groups = TransactionRows<GroupRow>()
    private var seenSends = TransactionRows<SendIdempotencyRow>()
    private var subscribedGroups = TransactionRows<SubscribedGroups>()

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
        try groups.row(under: key.bytes, in: committed)
    }

    func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow? {
        try seenSends.row(under: SendIdempotencyRow.key(app: app, send: send), in: committed)
    }

    func subscribedGroups(of app: String) throws(StoreError) -> SubscribedGroups? {
        try subscribedGroups.row(under: SubscribedGroups.key(app: app), in: committed)
    }

    func set(_ row: GroupRow, of key: ScopeKey) { groups.set(row, under: key.bytes) }

    func set(_ seen: SendIdempotencyRow, send: String, app: String) {
        seenSends.set(seen, under: SendIdempotencyRow.key(app: app, send: send))
    }

    func set(_ groups: SubscribedGroups, of app: String) {
        subscribedGroups.set(groups, under: SubscribedGroups.key(app: app))
    }

    /// Adds one record for each changed row.
    func write(to output: inout PlannerOutput) {
        groups.write(to: &output, partition: partition)
        seenSends.write(to: &output, partition: partition)
        subscribedGroups.write(to: &output, partition: partition)
    }
}

/// The rows of one kind that a transaction has read or changed.
private struct TransactionRows<Row: JSONRecord> {
    private var rows: [HashedKey: (row: Row?, isChanged: Bool)] = [:]

    var count: Int { rows.count }

    mutating func row(under key: [UInt8], in committed: CommittedRows) throws(StoreError) -> Row? {
        let key = HashedKey(key)
        if let known = rows[key] { return known.row }
        let found: Row? = try committed.row(for: key)
        rows[key] = (found, false)
        return found
    }

    mutating func set(_ row: Row, under key: [UInt8]) { rows[HashedKey(key)] = (row, true) }

    func write(to output: inout PlannerOutput, partition: Int32) {
        for (key, entry) in rows where entry.isChanged {
            if let row = entry.row { output.add(row, key: key, partition: partition) }
        }
    }
}
