import Identifiers
import Lifecycle
import Schedules
import Sends
import Simulation
import StageSupport
import Store

@testable import Scheduler

// The process that owns the partitions. It reads its views, decides commands and fires timers in transactions, as the
// scheduler's loop does, but without I/O.
extension SchedulerWorld {
    /// Kills the process. The other one, or the same one after a new start, owns the partitions then.
    func switchProcess(to newProcess: Int) {
        process = newProcess
        clock = newClock
        lastStampAt = nil
        startOver(isNew: true)
    }

    /// Starts from the committed offsets. The views must be read to their ends before the next decision.
    ///
    /// - Parameter isNew: Whether the process is new. Otherwise it starts over after a failed transaction, and still
    ///   knows which timers have fired recently.
    private func startOver(isNew: Bool = false) {
        for partition in 0..<Self.partitionCount {
            let recentlyFired = memory[partition].recentlyFired
            memory[partition] = WorldMemory()
            if !isNew { memory[partition].recentlyFired = recentlyFired }
            memory[partition].position = logs[partition].committed
        }
    }

    /// Lets the view read some of the committed rows. Rows that the view has read leave the overlay.
    func readView(_ partition: Int, count: Int) {
        var overlay = memory[partition].overlay
        disks[process][partition].read(logs[partition], count: count) { key in
            guard let (row, unreadRecords) = overlay[key] else { return }
            overlay[key] = unreadRecords > 1 ? (row, unreadRecords - 1) : nil
        }
        memory[partition].overlay = overlay
        if disks[process][partition].appliedCount == logs[partition].rows.count {
            memory[partition].isServing = true
        }
        if random.number(below: 4) == 0 {
            memory[partition].upcomingTimers.retainUnwritten { overlay[$0] != nil }
        }
    }

    /// Asks for the end of `schedules`. When the process has read up to it, it knows all commands that were
    /// acknowledged before, and timers may fire.
    func requestEnd(of partition: Int) {
        guard memory[partition].isServing, let time = clock.dueTime(at: now),
            memory[partition].readProgress.mustRequestEnd(at: time)
        else { return }
        memory[partition].readProgress.recordEnd(
            at: Int64(logs[partition].commands.count), requestedAt: time,
            position: Int64(memory[partition].position))
    }

    private func table(_ partition: Int) -> WorldTable {
        WorldTable(view: disks[process][partition], memory: memory[partition])
    }

    private enum TransactionOutcome {
        case committed
        case failed
        /// The cluster committed, but the process got no answer.
        case committedWithoutAnswer
    }

    private func transactionOutcome(mayFail: Bool) -> TransactionOutcome {
        guard mayFail else { return .committed }
        switch random.number(below: 100) {
        case ..<3: return .failed
        case ..<6: return .committedWithoutAnswer
        default: return .committed
        }
    }

    /// Decides some commands in one transaction.
    func decide(_ partition: Int, mayFail: Bool) {
        guard memory[partition].isServing else { return }
        let start = memory[partition].position
        let end = min(logs[partition].commands.count, start + 1 + random.number(below: 8))
        if start == end { return }
        var table = table(partition)
        var decisions: [(command: ScheduleCommand, stamp: Int64, decision: TimerCommands.Decision)] = []
        for offset in start..<end {
            let record = logs[partition].commands[offset]
            clock.observe(stamp: record.stamp, at: now)
            lastStampAt = now
            guard let command = record.command,
                let decision = try? timerCommands.decide(
                    command, stamp: record.stamp, offset: Int64(offset), in: &table)
            else { continue }
            decisions.append((command, record.stamp, decision))
        }
        let outcome = transactionOutcome(mayFail: mayFail)
        if outcome != .failed {
            for (command, stamp, decision) in decisions {
                check(decision, about: command, stamp: stamp, partition: partition)
            }
            write(table, partition, isAnswered: outcome == .committed)
            logs[partition].committed = end
        }
        guard outcome == .committed else { return startOver() }
        memory[partition].position = end
        memory[partition].readProgress.advance(to: Int64(end))
    }

    /// Commits the changes of a transaction. If it was answered, the process notes them in its memory.
    private func write(_ table: WorldTable, _ partition: Int, isAnswered: Bool) {
        for (key, row) in table.changes {
            logs[partition].rows.append((key, row))
            guard isAnswered else { continue }
            let oldRow = table.memory.overlay[key].map(\.row) ?? table.view.rows[key]
            let unreadRecords = memory[partition].overlay[key]?.unreadRecords ?? 0
            memory[partition].overlay[key] = (row, unreadRecords + 1)
            if let oldRow, oldRow.wakesAt != row?.wakesAt {
                disks[process][partition].outdatedEntries.append(DueEntry(dueAt: oldRow.wakesAt, key: key))
            }
            if let row {
                memory[partition].upcomingTimers.add(DueEntry(dueAt: row.wakesAt, key: key))
            } else {
                memory[partition].upcomingTimers.remove(key)
            }
        }
    }

    /// Reads pages of the view until the timers that are due next are in memory.
    private func fillUpcomingTimers(of partition: Int) {
        while memory[partition].upcomingTimers.needsPage {
            var entries = disks[process][partition].entries
            if let pageStart = memory[partition].upcomingTimers.nextPageStart {
                entries.removeAll { $0 <= pageStart }
            }
            let pageSize = 1 + random.number(below: 8)
            memory[partition].upcomingTimers.add(
                page: Array(entries.prefix(pageSize)), isLast: entries.count <= pageSize)
        }
    }

    /// The timers that a transaction fires, and its changes.
    private struct Firing {
        var tables: [Int: WorldTable] = [:]
        /// The timers in the order in which they fire.
        var dueTimers: [(partition: Int, row: TimerRow)] = []
        /// The entries whose row has another due time or no longer exists.
        var outdatedEntries: [(partition: Int, entry: DueEntry)] = []
    }

    /// Fires the timers that are due, in one transaction over all partitions.
    func fire(mayFail: Bool) {
        guard let time = clock.dueTime(at: now) else { return }
        let firing = takeDueTimers(at: time)
        let isEmpty = firing.tables.values.allSatisfy { $0.changes.isEmpty }
        let outcome = isEmpty ? .committed : transactionOutcome(mayFail: mayFail)
        if outcome != .failed {
            let dueTimes = firing.dueTimers.map { $0.row.dueAt }
            if dueTimes != dueTimes.sorted() { reportFault("timers do not fire in due order") }
            for (partition, row) in firing.dueTimers { checkFired(row, partition: partition, at: time) }
            for (partition, table) in firing.tables {
                write(table, partition, isAnswered: outcome == .committed)
            }
        }
        guard outcome == .committed else { return startOver() }
        for (partition, entry) in firing.outdatedEntries {
            disks[process][partition].outdatedEntries.append(entry)
        }
        for (partition, row) in firing.dueTimers {
            if let timer = RecentlyFiredTimers.Timer(row) {
                memory[partition].recentlyFired.add(timer, at: time)
            }
        }
    }

    /// Takes the timers that are due out of memory, up to the limit of a transaction, and deletes their rows.
    private func takeDueTimers(at time: Int64) -> Firing {
        var firing = Firing()
        while firing.dueTimers.count < Self.firesMax, let (partition, entry) = nextDueEntry(at: time) {
            _ = memory[partition].upcomingTimers.takeFirst()
            var table = firing.tables[partition] ?? self.table(partition)
            if let row = table.row(entry.key), row.wakesAt == entry.dueAt {
                table.changes.updateValue(nil, forKey: entry.key)
                if case .timer(let row) = row { firing.dueTimers.append((partition, row)) }
            } else {
                firing.outdatedEntries.append((partition, entry))
            }
            firing.tables[partition] = table
        }
        return firing
    }

    /// Returns the oldest entry of all partitions that is due and may fire.
    private func nextDueEntry(at time: Int64) -> (partition: Int, entry: DueEntry)? {
        var oldest: (partition: Int, entry: DueEntry)?
        for partition in 0..<Self.partitionCount where memory[partition].isServing {
            fillUpcomingTimers(of: partition)
            guard let entry = memory[partition].upcomingTimers.first, entry.dueAt <= time,
                memory[partition].readProgress.mayFire(dueAt: entry.dueAt)
            else { continue }
            if let oldestEntry = oldest?.entry, oldestEntry <= entry { continue }
            oldest = (partition, entry)
        }
        return oldest
    }
}
