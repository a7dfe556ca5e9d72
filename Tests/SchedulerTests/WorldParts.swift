import Identifiers
import Schedules
import Sends
import StageSupport
import Store

@testable import Scheduler

// The state of a `SchedulerWorld` for one partition: the log in the cluster, and the view and the memory of a process.

/// One partition in the cluster: the committed records of `schedules` (commands) and `timers` (rows), in their order.
struct WorldLog {
    struct CommandRecord {
        /// The timestamp of the record, in milliseconds since 1970.
        var stamp: Int64
        /// The command, or nil for a record that only asks for the time.
        var command: ScheduleCommand?
    }

    var commands: [CommandRecord] = []
    /// The committed offset in `commands`.
    var committed = 0
    /// The rows of `timers`. A record without a row deletes the row of its key.
    var rows: [(key: HashedKey, row: WorldRow?)] = []
}

/// A row of `timers`.
enum WorldRow: Equatable {
    case timer(TimerRow)
    case idempotency(ScheduleIdempotencyRow)

    /// The time at which the scheduler looks at the row: a timer is due, or a remembered request may be forgotten.
    var wakesAt: Int64 {
        switch self {
        case .timer(let row): row.dueAt
        case .idempotency(let request): request.writtenAt + Idempotency.retentionMilliseconds
        }
    }
}

/// The view's file of a process for one partition: the rows that it has read from the log. It survives the process.
struct WorldView {
    var rows: [HashedKey: WorldRow] = [:]
    /// The entries in due order, including outdated ones.
    var entries: [DueEntry] = []
    /// The number of records of `WorldLog.rows` that were applied.
    var appliedCount = 0
    /// The outdated entries that the next read removes.
    var outdatedEntries: [DueEntry] = []

    /// Applies the next records of the log, and calls `didApply` with the key of each.
    mutating func read(_ log: WorldLog, count: Int, didApply: (HashedKey) -> Void) {
        let end = min(log.rows.count, appliedCount + count)
        guard end > appliedCount else { return }
        for entry in outdatedEntries { entries.removeAll { $0 == entry } }
        outdatedEntries.removeAll()
        for (key, row) in log.rows[appliedCount..<end] {
            rows[key] = row
            if let row { insert(DueEntry(dueAt: row.wakesAt, key: key)) }
            didApply(key)
        }
        appliedCount = end
    }

    private mutating func insert(_ entry: DueEntry) {
        let index = entries.firstIndex { $0 >= entry } ?? entries.endIndex
        if index == entries.endIndex || entries[index] != entry { entries.insert(entry, at: index) }
    }
}

/// The memory of a process for one partition. It is lost when the process dies.
struct WorldMemory {
    var upcomingTimers = UpcomingTimers()
    var readProgress = CommandReadProgress()
    var recentlyFired = RecentlyFiredTimers()
    /// The committed rows that the view has not read, with the number of their records. A nil row was deleted.
    var overlay: [HashedKey: (row: WorldRow?, unreadRecords: Int)] = [:]
    /// The position in `WorldLog.commands`.
    var position = 0
    /// Whether the view was read to its end.
    var isServing = false
}

/// The rows of a partition as a transaction sees them: its own changes, then the overlay, then the view.
struct WorldTable: TimerTable {
    let view: WorldView
    let memory: WorldMemory
    /// The rows that the transaction changes. A nil row is deleted.
    var changes: [HashedKey: WorldRow?] = [:]

    func row(_ key: HashedKey) -> WorldRow? {
        if let row = changes[key] { return row }
        if let row = memory.overlay[key] { return row.row }
        return view.rows[key]
    }

    mutating func timers(of owner: ScheduleOwner, app: String) -> [TimerRow] {
        let prefix = TimerRow.keyPrefix(app: app, owner: owner)
        let keys = Set(view.rows.keys).union(memory.overlay.keys).union(changes.keys)
        return keys.filter { $0.bytes.starts(with: prefix) }.compactMap { key in
            if case .timer(let row) = row(key) { row } else { nil }
        }
    }

    mutating func timers(naming user: String, app: String) -> [TimerRow] {
        let keys = Set(view.rows.keys).union(memory.overlay.keys).union(changes.keys)
        return keys.compactMap { key in
            guard case .timer(let timer) = row(key), timer.app == app, timer.send.names(user) else {
                return nil
            }
            return timer
        }
    }

    mutating func idempotencyRow(for key: [UInt8]) -> ScheduleIdempotencyRow? {
        if case .idempotency(let request) = row(HashedKey(key)) { request } else { nil }
    }

    mutating func set(_ row: TimerRow) { changes.updateValue(.timer(row), forKey: HashedKey(row.key)) }
    mutating func set(_ request: ScheduleIdempotencyRow, key: [UInt8]) {
        changes.updateValue(.idempotency(request), forKey: HashedKey(key))
    }
    mutating func remove(_ row: TimerRow) { changes.updateValue(nil, forKey: HashedKey(row.key)) }

    func recentlyFiredCount(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    ) -> Int {
        memory.recentlyFired.count(matching: selection, of: owner, app: app, at: time)
    }
}
