internal import Identifiers
internal import RecordFormat
internal import Schedules
internal import Sends
internal import StageSupport
internal import Store

/// The rows of one partition of `timers`, as the current transaction reads and changes them. Committed rows are loaded
/// when they are needed: a timer with all timers of its owner, an idempotency row by its key.
final class TransactionTimers: TimerTable {
    /// A row that was read or made. Its `row` is nil if it does not exist or is deleted.
    private struct LoadedRow<Row> {
        var row: Row?
        /// The due time of the committed row. If it changes, the row's entry in due order is replaced.
        var committedDueAt: Int64?
        var isChanged = false
    }

    /// The number of an owner's rows in one page of the view.
    private static let pageRows = 500

    private let committed: CommittedRows
    private let unreadTimers: UnreadTimers
    private let recentlyFiredTimers: RecentlyFiredTimers
    private var timers: [HashedKey: LoadedRow<TimerRow>] = [:]
    private var idempotencyRows: [HashedKey: LoadedRow<ScheduleIdempotencyRow>] = [:]
    /// The keys of the timers of each owner whose timers are loaded. An owner is named by the prefix of its keys.
    private var timerKeysByOwner: [HashedKey: Set<HashedKey>] = [:]

    init(committed: CommittedRows, unreadTimers: UnreadTimers, recentlyFiredTimers: RecentlyFiredTimers) {
        self.committed = committed
        self.unreadTimers = unreadTimers
        self.recentlyFiredTimers = recentlyFiredTimers
    }

    var newerRecord: RecordDecodingError? { committed.newerRecord }
    /// The number of rows in memory.
    var count: Int { timers.count + idempotencyRows.count }

    // MARK: Rows

    func timers(of owner: ScheduleOwner, app: String) throws(StoreError) -> [TimerRow] {
        let prefix = HashedKey(TimerRow.keyPrefix(app: app, owner: owner))
        if timerKeysByOwner[prefix] == nil {
            timerKeysByOwner[prefix] = try loadTimers(withPrefix: prefix)
        }
        return timerKeysByOwner[prefix, default: []].compactMap { timers[$0]?.row }
    }

    func timers(naming user: String, app: String) throws(StoreError) -> [TimerRow] {
        var owners: Set<ScheduleOwner> = []
        for (_, loaded) in timers {
            if let row = loaded.row, row.app == app, row.send.names(user) { owners.insert(row.owner) }
        }
        try committed.readRows(
            withPrefix: RecordKey.join(app, ""), unread: unreadTimers.keys(ofApp: app),
            pageRows: Self.pageRows
        ) { (_, row: TimerRow?) in
            if let row, row.send.names(user) { owners.insert(row.owner) }
        }
        var rows: [TimerRow] = []
        for owner in owners { rows += try timers(of: owner, app: app).filter { $0.send.names(user) } }
        return rows
    }

    private func loadTimers(withPrefix prefix: HashedKey) throws(StoreError) -> Set<HashedKey> {
        var keys: Set<HashedKey> = []
        try committed.readRows(
            withPrefix: prefix.bytes, unread: unreadTimers[prefix], pageRows: Self.pageRows
        ) {
            (key, row: TimerRow?) in
            keys.insert(key)
            timers[key] = LoadedRow(row: row, committedDueAt: row?.dueAt)
        }
        return keys
    }

    func idempotencyRow(for key: [UInt8]) throws(StoreError) -> ScheduleIdempotencyRow? {
        let key = HashedKey(key)
        if let loaded = idempotencyRows[key] { return loaded.row }
        let row: ScheduleIdempotencyRow? = try committed.row(for: key)
        idempotencyRows[key] = LoadedRow(row: row, committedDueAt: row?.expiresAt)
        return row
    }

    func recentlyFiredCount(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    ) -> Int {
        recentlyFiredTimers.count(matching: selection, of: owner, app: app, at: time)
    }

    // MARK: Changes

    func set(_ row: TimerRow) {
        let key = HashedKey(row.key)
        let prefix = HashedKey(TimerRow.keyPrefix(app: row.app, owner: row.owner))
        let isOwnerLoaded = timerKeysByOwner[prefix] != nil
        precondition(isOwnerLoaded, "a timer was set before the timers of its owner were loaded")
        timerKeysByOwner[prefix]?.insert(key)
        timers[key, default: LoadedRow()].row = row
        timers[key]?.isChanged = true
    }

    func remove(_ row: TimerRow) {
        let key = HashedKey(row.key)
        timers[key, default: LoadedRow()].row = nil
        timers[key]?.isChanged = true
    }

    func set(_ row: ScheduleIdempotencyRow, key: [UInt8]) {
        let key = HashedKey(key)
        idempotencyRows[key, default: LoadedRow()].row = row
        idempotencyRows[key]?.isChanged = true
    }

    /// Adds one record for each changed row.
    func write(to output: inout SchedulerOutput) {
        for (key, loaded) in timers where loaded.isChanged {
            output.add(
                loaded.row, key: key, partition: committed.partition, dueAt: loaded.row?.dueAt,
                previousDueAt: loaded.committedDueAt)
        }
        for (key, loaded) in idempotencyRows where loaded.isChanged {
            output.add(
                loaded.row, key: key, partition: committed.partition, dueAt: loaded.row?.expiresAt,
                previousDueAt: loaded.committedDueAt)
        }
    }
}

extension ScheduleIdempotencyRow {
    /// The time at which the idempotency key is forgotten, in milliseconds since 1970.
    var expiresAt: Int64 { writtenAt + Idempotency.retentionMilliseconds }
}

extension Send {
    /// Whether the audience names the user.
    func names(_ user: String) -> Bool {
        guard case .users(let users) = audience else { return false }
        return users.contains { $0.isExactlyEqual(to: user) }
    }
}
