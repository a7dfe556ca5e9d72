internal import LiveActivity
internal import StageSupport
internal import Store

/// The rows of one partition of `timers` as the current transaction changes them, on top of the committed
/// rows.
final class PartitionTimers: TimerTable {
    /// A row that was read or made.
    private struct Entry<Row> {
        var row: Row?
        /// The time of the committed row's entry in due order. If the time changes, that entry is removed.
        var committedAt: Int64?
        var isChanged = false
    }

    /// The number of an owner's rows in one page of the view.
    private static let pageRows = 500

    private let committed: CommittedRows
    private let unread: UnreadTimers
    private let lately: LatelyFired
    private var timers: [KeyBytes: Entry<TimerRow>] = [:]
    private var sends: [KeyBytes: Entry<SeenOrder>] = [:]
    /// The owners whose timers are all loaded, with the keys of these timers.
    private var owners: [KeyBytes: Set<KeyBytes>] = [:]

    init(over committed: CommittedRows, unread: UnreadTimers, lately: LatelyFired) {
        self.committed = committed
        self.unread = unread
        self.lately = lately
    }

    var newerRecord: RecordError? { committed.newerRecord }
    /// The number of rows in memory.
    var count: Int { timers.count + sends.count }

    // MARK: Rows

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

    // MARK: Changes

    func set(_ row: TimerRow) {
        let key = KeyBytes(row.key)
        let owner = KeyBytes(TimerRow.prefix(app: row.app, owner: row.owner))
        guard owners[owner]?.insert(key) != nil else {
            preconditionFailure("a timer was set before the timers of its owner were loaded")
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

    /// Adds one record for each changed row.
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
    /// The time at which the idempotency key is forgotten, in milliseconds since 1970.
    var forgottenAt: Int64 { at + Self.keptMilliseconds }
}
