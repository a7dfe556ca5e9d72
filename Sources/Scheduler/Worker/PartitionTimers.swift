internal import LiveActivity
internal import Stages
internal import Store

/// The rows of one partition of `timers` as the transaction of orders in hand makes them, over what is committed.
final class PartitionTimers: TimerTable {
    /// A row as it was found or made.
    private struct Entry<Row> {
        var row: Row?
        /// When the committed row has to be looked at; its entry in due order goes when that changes.
        var committedAt: Int64?
        var isChanged = false
    }

    /// Rows of an owner that one page of the view brings.
    private static let pageRows = 500

    private let committed: CommittedRows
    private let unread: UnreadTimers
    private let lately: LatelyFired
    private var timers: [KeyBytes: Entry<TimerRow>] = [:]
    private var sends: [KeyBytes: Entry<SeenOrder>] = [:]
    /// The keys of owners whose timers are all here.
    private var owners: [KeyBytes: Set<KeyBytes>] = [:]

    init(over committed: CommittedRows, unread: UnreadTimers, lately: LatelyFired) {
        self.committed = committed
        self.unread = unread
        self.lately = lately
    }

    var newerRecord: RecordError? { committed.newerRecord }
    /// Rows that are in memory.
    var count: Int { timers.count + sends.count }

    // MARK: What there is

    func timers(of owner: ScheduleOwner, app: String) throws(StoreError) -> [TimerRow] {
        let prefix = KeyBytes(TimerRow.prefix(app: app, owner: owner))
        if owners[prefix] == nil { owners[prefix] = try load(prefix) }
        return owners[prefix, default: []].compactMap { timers[$0]?.row }
    }

    private func load(_ prefix: KeyBytes) throws(StoreError) -> Set<KeyBytes> {
        var keys: Set<KeyBytes> = []
        try committed.rows(prefix.bytes, unread: unread[prefix], pageRows: Self.pageRows) {
            (key, row: TimerRow?) in
            keys.insert(key)
            timers[key] = Entry(row: row, committedAt: row?.dueAt)
        }
        return keys
    }

    func seen(_ key: [UInt8]) throws(StoreError) -> SeenOrder? {
        let key = KeyBytes(key)
        if let entry = sends[key] { return entry.row }
        let found: SeenOrder? = try committed.row(key)
        sends[key] = Entry(row: found, committedAt: found?.forgottenAt)
        return found
    }

    func lately(_ choice: ScheduleOrder.Choice, of owner: ScheduleOwner, app: String, at time: Int64) -> Int {
        lately.count(choice, of: owner, app: app, at: time)
    }

    // MARK: What changes

    func set(_ row: TimerRow) {
        let key = KeyBytes(row.key)
        let owner = KeyBytes(TimerRow.prefix(app: row.app, owner: row.owner))
        guard owners[owner]?.insert(key) != nil else {
            preconditionFailure("a timer is set whose owner's were not asked for")
        }
        timers[key, default: Entry()].row = row
        timers[key]?.isChanged = true
    }

    func remove(_ row: TimerRow) {
        let key = KeyBytes(row.key)
        timers[key, default: Entry()].row = nil
        timers[key]?.isChanged = true
    }

    func set(_ seen: SeenOrder, key: [UInt8]) {
        let key = KeyBytes(key)
        sends[key, default: Entry()].row = seen
        sends[key]?.isChanged = true
    }

    /// Adds the records of those that have changed, one for each.
    func write(to output: inout TimerOutput) {
        for (key, entry) in timers where entry.isChanged {
            output.add(
                entry.row, key: key, partition: committed.partition, wakesAt: entry.row?.dueAt,
                before: entry.committedAt)
        }
        for (key, entry) in sends where entry.isChanged {
            output.add(
                entry.row, key: key, partition: committed.partition, wakesAt: entry.row?.forgottenAt,
                before: entry.committedAt)
        }
    }
}

extension SeenOrder {
    /// Milliseconds since 1970.
    var forgottenAt: Int64 { at + Self.keptMilliseconds }
}
