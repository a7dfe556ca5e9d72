import Identifiers
import Lifecycle
import Payloads
import Schedules
import Sends
import Simulation
import StageSupport
import Store

@testable import Scheduler

/// One partition in the cluster: the committed records of `schedules` and `timers`, in their order.
struct WorldLog {
    struct CommandRecord {
        var stamp: Int64
        /// The command, or nil for a record that only asks for the time.
        var command: ScheduleCommand?
    }

    var commands: [CommandRecord] = []
    /// The committed offset in `commands`.
    var committed = 0
    var rows: [(key: HashedKey, row: WorldRow?)] = []
}

/// A row of `timers`.
enum WorldRow: Equatable {
    case timer(TimerRow)
    case idempotency(ScheduleIdempotencyRow)

    var wakesAt: Int64 {
        switch self {
        case .timer(let row): row.dueAt
        case .idempotency(let seen): seen.writtenAt + Idempotency.retentionMilliseconds
        }
    }
}

/// The view's file of a process for one partition.
struct WorldView {
    var rows: [HashedKey: WorldRow] = [:]
    /// The entries in due order, including outdated ones.
    var entries: [DueEntry] = []
    /// The number of records of `WorldLog.rows` that were applied.
    var applied = 0
    /// The outdated entries that the next read removes.
    var dropped: [DueEntry] = []

    mutating func read(_ log: WorldLog, count: Int, _ applied: (HashedKey) -> Void) {
        let end = min(log.rows.count, self.applied + count)
        guard end > self.applied else { return }
        for entry in dropped { entries.removeAll { $0 == entry } }
        dropped.removeAll()
        for (key, row) in log.rows[self.applied..<end] {
            rows[key] = row
            if let row { enter(DueEntry(dueAt: row.wakesAt, key: key)) }
            applied(key)
        }
        self.applied = end
    }

    private mutating func enter(_ entry: DueEntry) {
        let index = entries.firstIndex { $0 >= entry } ?? entries.endIndex
        if index == entries.endIndex || entries[index] != entry { entries.insert(entry, at: index) }
    }
}

/// The memory of a process for one partition.
struct WorldMemory {
    var upcomingTimers = UpcomingTimers()
    var readProgress = OrderReadProgress()
    var recentlyFired = RecentlyFiredTimers()
    /// The committed rows that the view has not read, with the number of their records.
    var overlay: [HashedKey: (row: WorldRow?, outstanding: Int)] = [:]
    /// The position in `WorldLog.commands`.
    var position = 0
    /// Whether the view was read to its end.
    var isServing = false
}

/// The rows with the changes of a transaction.
struct WorldTable: TimerTable {
    let view: WorldView
    let memory: WorldMemory
    var changed: [HashedKey: WorldRow?] = [:]

    func row(_ key: HashedKey) -> WorldRow? {
        if let row = changed[key] { return row }
        if let row = memory.overlay[key] { return row.row }
        return view.rows[key]
    }

    mutating func timers(of owner: ScheduleOwner, app: String) -> [TimerRow] {
        let prefix = TimerRow.keyPrefix(app: app, owner: owner)
        let keys = Set(view.rows.keys).union(memory.overlay.keys).union(changed.keys)
        return keys.filter { $0.bytes.starts(with: prefix) }.compactMap { key in
            if case .timer(let row) = row(key) { row } else { nil }
        }
    }

    mutating func idempotencyRow(for key: [UInt8]) -> ScheduleIdempotencyRow? {
        if case .idempotency(let seen) = row(HashedKey(key)) { seen } else { nil }
    }

    mutating func set(_ row: TimerRow) { changed[HashedKey(row.key)] = .some(.timer(row)) }
    mutating func set(_ seen: ScheduleIdempotencyRow, key: [UInt8]) {
        changed[HashedKey(key)] = .some(.idempotency(seen))
    }
    mutating func remove(_ row: TimerRow) { changed.updateValue(nil, forKey: HashedKey(row.key)) }

    func recentlyFiredCount(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    ) -> Int {
        memory.recentlyFired.count(matching: selection, of: owner, app: app, at: time)
    }
}

/// A simulation of a cluster with two scheduler processes that can die, of which one owns the partitions at a time. It
/// runs the scheduler's decisions without Kafka and without files, and checks each committed record.
final class SchedulerWorld {
    static let partitions = 2
    static let firesMax = 5
    private static let users = ["ada", "ben", "eve"]
    private static let activities = ["chest_0", "chest_1"]
    /// The idempotency keys.
    private static let keys = ["k1", "k2"]
    /// The time after which a jump of a clock is believed.
    static let confirmationMilliseconds = 30_000

    enum TimerOutcome: Equatable { case fired, expired, cancelled, replaced }

    private struct Timer {
        var row: TimerRow
        var partition: Int
        var outcome: TimerOutcome?
    }

    private var random: SeededGenerator
    private let timerCommands = TimerCommands()
    /// The cluster's time in milliseconds since 1970.
    private(set) var time: Int64 = 1_800_000_000_000
    /// The milliseconds by which the machine's clock is ahead of the cluster's.
    private var machineAhead: Int64 = 0
    private var logs = Array(repeating: WorldLog(), count: partitions)
    /// The disks, by process and partition.
    private var disks = Array(repeating: Array(repeating: WorldView(), count: partitions), count: 2)
    /// The process that owns the partitions.
    private var process = 0
    private var memory = Array(repeating: WorldMemory(), count: partitions)
    private lazy var clock = newClock
    private var lastStampAt: Instant?
    private var newClock: ClusterClock {
        ClusterClock(now: now, confirmationMilliseconds: Self.confirmationMilliseconds)
    }
    private var nextID = 0
    /// The accepted timers by the id of their send.
    private var timers: [String: Timer] = [:]
    /// The first requests with an idempotency key, by the owner and the key.
    private var acceptedRequests:
        [String: (fingerprint: String, answer: ScheduleReply.ScheduledTimer, at: Int64)] =
            [:]
    private(set) var faults: [String] = []
    private(set) var fired = 0
    private(set) var cancelled = 0
    private(set) var expired = 0
    private(set) var tooLate = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private var now: Instant { Instant(nanoseconds: (time - 1_700_000_000_000) * 1_000_000) }
    private var machineTime: Int64 { time + machineAhead }

    private func fault(_ text: String) { if faults.count < 5 { faults.append(text) } }

    // MARK: Events

    func step() {
        clock.observe(machineTime: machineTime, at: now)
        let partition = random.number(below: Self.partitions)
        switch random.number(below: 1000) {
        case ..<200: writeCommand(to: partition)
        case ..<430: time += Int64(random.number(below: random.number(below: 10) == 0 ? 20_000 : 800))
        case ..<620: decide(partition, failing: true)
        case ..<820: fire(failing: true)
        case ..<960: readView(partition, count: 1 + random.number(below: 20))
        case ..<985: requestEnd(of: partition)
        case ..<990: switchProcess(to: process)
        case ..<994: switchProcess(to: 1 - process)
        case ..<997: changeMachineClock()
        case ..<998: time += Int64(random.number(below: 3_600_000))
        default: writeTimeProbe(to: partition)
        }
    }

    private func changeMachineClock() {
        machineAhead += [-3_600_000, -60_000, -4000, 4000, 60_000, 3_600_000][random.number(below: 6)]
        if abs(machineAhead) > 4 * 3_600_000 { machineAhead = 0 }
        clock.observe(machineTime: machineTime, at: now)
    }

    private func writeTimeProbe(to partition: Int) {
        logs[partition].commands.append(.init(stamp: time, command: nil))
    }

    private func writeCommand(to partition: Int) {
        let user = Self.users[random.number(below: Self.users.count)] + "\(partition)"
        let owner = ScheduleOwner.recipient(.user(user))
        let activity = Self.activities[random.number(below: Self.activities.count)]
        let id = "s\(random.number(below: 6))"
        let action: ScheduleCommand.Action
        switch random.number(below: 10) {
        case ..<7: action = .schedule(makeSchedule(id, activity, user))
        case 7: action = .cancel(.activity(activity))
        case 8: action = .cancel(.id(id))
        default: action = .cancel(.send("send-\(max(0, nextID - random.number(below: 10)))"))
        }
        let command = ScheduleCommand(action, app: "shop", owner: owner, acceptedAt: machineTime)
        logs[partition].commands.append(.init(stamp: time, command: command))
    }

    private func makeSchedule(_ id: String, _ activity: String, _ user: String) -> Schedule {
        nextID += 1
        var content = PushContent(.update)
        content.contentState = raw("{}")
        let send = Send(
            id: "send-\(nextID)", app: "shop", group: activity, audience: .users([user]), content: content,
            priority: .immediate, acceptedAt: machineTime)
        let delay = Int64(
            random.number(below: 4) == 0 ? random.number(below: 600_000) : random.number(below: 8000))
        let when: Schedule.DueTime = random.number(below: 2) == 0 ? .offset(delay) : .at(time + delay - 500)
        var schedule = Schedule(id: id, activity: activity, dueTime: when, send: send)
        schedule.latenessMillisecondsMax =
            [0, 5000, Schedule.latenessMillisecondsDefault][random.number(below: 3)]
        if random.number(below: 3) == 0 {
            schedule.idempotency = Idempotency(
                key: Self.keys[random.number(below: Self.keys.count)],
                fingerprint: "f\(random.number(below: 2))")
        }
        return schedule
    }

    // MARK: The process

    /// Kills the process. Another one, or the same one again, owns the partitions.
    private func switchProcess(to newProcess: Int) {
        process = newProcess
        clock = newClock
        lastStampAt = nil
        startOver(isNew: true)
    }

    /// Starts from the committed offsets, with views that are read again up to their ends.
    private func startOver(isNew: Bool = false) {
        for partition in 0..<Self.partitions {
            let recentlyFired = isNew ? RecentlyFiredTimers() : memory[partition].recentlyFired
            memory[partition] = WorldMemory()
            memory[partition].recentlyFired = recentlyFired
            memory[partition].position = logs[partition].committed
        }
    }

    private func readView(_ partition: Int, count: Int) {
        var overlay = memory[partition].overlay
        disks[process][partition].read(logs[partition], count: count) { key in
            guard let row = overlay[key] else { return }
            overlay[key] = row.outstanding > 1 ? (row.row, row.outstanding - 1) : nil
        }
        memory[partition].overlay = overlay
        if disks[process][partition].applied == logs[partition].rows.count {
            memory[partition].isServing = true
        }
        if random.number(below: 4) == 0 {
            memory[partition].upcomingTimers.retainUnwritten { overlay[$0] != nil }
        }
    }

    private func requestEnd(of partition: Int) {
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

    private func transactionOutcome(failing: Bool) -> TransactionOutcome {
        guard failing else { return .committed }
        switch random.number(below: 100) {
        case ..<3: return .failed
        case ..<6: return .committedWithoutAnswer
        default: return .committed
        }
    }

    private func decide(_ partition: Int, failing: Bool) {
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
        let outcome = transactionOutcome(failing: failing)
        if outcome != .failed {
            for (command, stamp, decision) in decisions { check(command, stamp, decision, partition) }
            write(table, partition, isAnswered: outcome == .committed)
            logs[partition].committed = end
        }
        guard outcome == .committed else { return startOver() }
        memory[partition].position = end
        memory[partition].readProgress.advance(to: Int64(end))
    }

    private func write(_ table: WorldTable, _ partition: Int, isAnswered: Bool) {
        for (key, row) in table.changed {
            logs[partition].rows.append((key, row))
            guard isAnswered else { continue }
            let before = table.memory.overlay[key].map(\.row) ?? table.view.rows[key]
            let outstanding = memory[partition].overlay[key]?.outstanding ?? 0
            memory[partition].overlay[key] = (row, outstanding + 1)
            if let before, before.wakesAt != row?.wakesAt {
                disks[process][partition].dropped.append(DueEntry(dueAt: before.wakesAt, key: key))
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
            let begin = memory[partition].upcomingTimers.nextPageStart
            let entries = disks[process][partition].entries.filter { entry in begin.map { entry > $0 } ?? true
            }
            let rows = 1 + random.number(below: 8)
            memory[partition].upcomingTimers.add(
                page: Array(entries.prefix(rows)), isLast: entries.count <= rows)
        }
    }

    private func fire(failing: Bool) {
        guard let time = clock.dueTime(at: now) else { return }
        var tables: [Int: WorldTable] = [:]
        var outdated: [(partition: Int, entry: DueEntry)] = []
        var dueTimers: [(partition: Int, row: TimerRow)] = []
        while dueTimers.count < Self.firesMax {
            var oldest: (partition: Int, entry: DueEntry)?
            for partition in 0..<Self.partitions where memory[partition].isServing {
                fillUpcomingTimers(of: partition)
                guard let entry = memory[partition].upcomingTimers.first, entry.dueAt <= time,
                    memory[partition].readProgress.mayFire(dueAt: entry.dueAt)
                else { continue }
                if oldest.map({ entry < $0.entry }) ?? true { oldest = (partition, entry) }
            }
            guard let (partition, entry) = oldest else { break }
            _ = memory[partition].upcomingTimers.takeFirst()
            var table = tables[partition] ?? self.table(partition)
            if let row = table.row(entry.key), row.wakesAt == entry.dueAt {
                table.changed.updateValue(nil, forKey: entry.key)
                if case .timer(let row) = row { dueTimers.append((partition, row)) }
            } else {
                outdated.append((partition, entry))
            }
            tables[partition] = table
        }
        let isEmpty = tables.values.allSatisfy { $0.changed.isEmpty }
        let outcome = isEmpty ? .committed : transactionOutcome(failing: failing)
        if outcome != .failed {
            if zip(dueTimers, dueTimers.dropFirst()).contains(where: { $0.row.dueAt > $1.row.dueAt }) {
                fault("timers do not fire in due order")
            }
            for (partition, row) in dueTimers { check(row, partition, at: time) }
            for (partition, table) in tables { write(table, partition, isAnswered: outcome == .committed) }
        }
        guard outcome == .committed else { return startOver() }
        for (partition, entry) in outdated { disks[process][partition].dropped.append(entry) }
        for (partition, row) in dueTimers {
            if let timer = RecentlyFiredTimers.Timer(row) {
                memory[partition].recentlyFired.add(timer, at: time)
            }
        }
    }

    // MARK: Checks

    private func check(
        _ command: ScheduleCommand, _ stamp: Int64, _ decision: TimerCommands.Decision, _ partition: Int
    ) {
        switch (command.action, decision.answer) {
        case (.schedule(let schedule), .scheduled(let answer)):
            accept(schedule, of: command, stamp, answer, decision, partition)
        case (.schedule(let schedule), .conflict):
            guard let known = known(schedule, of: command, at: stamp),
                known.fingerprint != schedule.idempotency?.fingerprint
            else { return fault("a conflict without an earlier request") }
        case (.cancel(let selection), .cancelled(let count, let tooLate)):
            self.tooLate += tooLate
            cancel(selection, of: command, count)
        default: fault("\(decision.answer) is the wrong answer to \(command.action)")
        }
    }

    private func known(_ schedule: Schedule, of command: ScheduleCommand, at stamp: Int64)
        -> (fingerprint: String, answer: ScheduleReply.ScheduledTimer, at: Int64)?
    {
        guard let key = schedule.idempotency?.key,
            let known = acceptedRequests[command.owner.text + "/" + key],
            stamp - known.at < Idempotency.retentionMilliseconds
        else { return nil }
        return known
    }

    private func accept(
        _ schedule: Schedule, of command: ScheduleCommand, _ stamp: Int64,
        _ answer: ScheduleReply.ScheduledTimer,
        _ decision: TimerCommands.Decision, _ partition: Int
    ) {
        if let known = known(schedule, of: command, at: stamp) {
            if known.answer != answer || decision.outcome != .repeated {
                fault("a repetition has another answer")
            }
            return
        }
        if let idempotency = schedule.idempotency {
            acceptedRequests[command.owner.text + "/" + idempotency.key] = (
                idempotency.fingerprint, answer, stamp
            )
        }
        let replacedTimers = timers.filter { _, timer in
            timer.outcome == nil && timer.row.owner == command.owner && timer.row.id == schedule.id
        }
        if replacedTimers.isEmpty == answer.isReplacement {
            fault("\(schedule.id) has the wrong value of replaced")
        }
        for key in replacedTimers.keys { timers[key]?.outcome = .replaced }
        var row = TimerRow(
            app: command.app, owner: command.owner, id: schedule.id, activity: schedule.activity,
            dueAt: answer.dueAt, latenessMillisecondsMax: schedule.latenessMillisecondsMax,
            send: schedule.send, commandOffset: 0)
        row.send.scheduledAt = stamp
        if case .offset(let offset) = schedule.dueTime, answer.dueAt != stamp + offset {
            fault("an offset does not count from the stamp")
        }
        timers[schedule.send.id] = Timer(row: row, partition: partition)
    }

    private func cancel(
        _ selection: ScheduleCommand.TimerSelection, of command: ScheduleCommand, _ count: Int
    ) {
        let selectedTimers = timers.filter { _, timer in
            guard timer.outcome == nil, timer.row.owner == command.owner else { return false }
            return switch selection {
            case .activity(let name): timer.row.activity == name
            case .id(let id): timer.row.id == id
            case .send(let id): timer.row.send.id == id
            case .everything: true
            }
        }
        if selectedTimers.count != count {
            fault("\(selectedTimers.count) timers match the cancel, \(count) were cancelled")
        }
        for key in selectedTimers.keys { timers[key]?.outcome = .cancelled }
        cancelled += count
    }

    private func check(_ row: TimerRow, _ partition: Int, at decided: Int64) {
        guard let timer = timers[row.send.id] else { return fault("\(row.send.id) was never accepted") }
        if let outcome = timer.outcome { return fault("\(row.send.id) fires and was already \(outcome)") }
        if time < row.dueAt { fault("\(row.send.id) fires \(row.dueAt - time) ms early") }
        if time < decided { fault("the clock is ahead of the cluster") }
        guard case .fires(let send) = row.outcome(at: decided) else {
            expired += 1
            if time - row.dueAt <= row.latenessMillisecondsMax { fault("\(row.send.id) expires too early") }
            timers[row.send.id]?.outcome = .expired
            return
        }
        fired += 1
        timers[row.send.id]?.outcome = .fired
        if send.acceptedAt != row.dueAt || send.scheduledAt != timer.row.send.scheduledAt {
            fault("\(row.send.id) does not carry its due time")
        }
        // The scheduler has read everything that was acknowledged in time, even if it is not processed yet.
        let isCancelledInTime = logs[partition].commands[logs[partition].committed...].contains { record in
            guard record.stamp <= row.dueAt - OrderReadProgress.cancelLeadMilliseconds,
                let command = record.command,
                command.owner == row.owner
            else { return false }
            switch command.action {
            case .cancel(.activity(let name)): return row.activity == name
            case .cancel(.id(let id)): return row.id == id
            case .cancel(.send(let id)): return row.send.id == id
            case .cancel(.everything): return true
            case .schedule, .list: return false
            }
        }
        if isCancelledInTime { fault("\(row.send.id) fires but was cancelled in time") }
    }

    private var isStale: Bool { lastStampAt.map { now.milliseconds(since: $0) >= 10_000 } ?? true }

    /// Runs until no timer waits.
    func finish() {
        for _ in 0..<4000 {
            clock.observe(machineTime: machineTime, at: now)
            for partition in 0..<Self.partitions {
                readView(partition, count: Int.max >> 1)
                decide(partition, failing: false)
                if isStale || clock.isDoubtful { writeTimeProbe(to: partition) }
                requestEnd(of: partition)
            }
            fire(failing: false)
            time += 500
        }
        let waitingTimers = timers.values.filter { $0.outcome == nil }
        if !waitingTimers.isEmpty {
            fault("\(waitingTimers.count) timers never fired, such as \(waitingTimers[0].row.send.id)")
        }
        if memory.contains(where: { $0.upcomingTimers.unwrittenCount > 1000 }) {
            fault("the memory grows without bound")
        }
    }
}
