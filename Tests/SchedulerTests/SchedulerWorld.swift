import Identifiers
import Lifecycle
import Payloads
import Schedules
import Sends
import Simulation
import StageSupport
import Store

@testable import Scheduler

/// One partition in the cluster: the committed records in their order.
struct WorldLog {
    struct Order {
        var stamp: Int64
        /// The order. Nil for a question for the time.
        var order: ScheduleCommand?
    }

    var orders: [Order] = []
    var committed = 0
    var rows: [(key: HashedKey, row: WorldRow?)] = []
}

enum WorldRow: Equatable {
    case timer(TimerRow)
    case seen(ScheduleIdempotencyRow)

    var wakesAt: Int64 {
        switch self {
        case .timer(let row): row.dueAt
        case .seen(let seen): seen.writtenAt + Idempotency.retentionMilliseconds
        }
    }
}

/// The disk of a process for one partition.
struct WorldView {
    var rows: [HashedKey: WorldRow] = [:]
    /// Entries in due order, including outdated ones.
    var entries: [DueEntry] = []
    var applied = 0
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
        let place = entries.firstIndex { $0 >= entry } ?? entries.endIndex
        if place == entries.endIndex || entries[place] != entry { entries.insert(entry, at: place) }
    }
}

/// The memory of a process for one partition.
struct WorldMemory {
    var window = UpcomingTimers()
    var heard = OrderReadProgress()
    var lately = RecentlyFiredTimers()
    var overlay: [HashedKey: (row: WorldRow?, outstanding: Int)] = [:]
    var position = 0
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
        if case .seen(let seen) = row(HashedKey(key)) { seen } else { nil }
    }

    mutating func set(_ row: TimerRow) { changed[HashedKey(row.key)] = .some(.timer(row)) }
    mutating func set(_ seen: ScheduleIdempotencyRow, key: [UInt8]) {
        changed[HashedKey(key)] = .some(.seen(seen))
    }
    mutating func remove(_ row: TimerRow) { changed.updateValue(nil, forKey: HashedKey(row.key)) }

    func recentlyFiredCount(
        matching choice: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String, at time: Int64
    ) -> Int {
        memory.lately.count(matching: choice, of: owner, app: app, at: time)
    }
}

/// A cluster with two processes that can die. One at a time owns the partitions. It runs the scheduler's
/// decisions without Kafka and without a disk, and checks the committed records.
final class SchedulerWorld {
    static let partitions = 2
    static let firesMax = 5
    private static let users = ["ada", "ben", "eve"]
    private static let activities = ["chest_0", "chest_1"]
    /// The idempotency keys.
    private static let keys = ["k1", "k2"]
    static let hold = 30_000

    enum Fate: Equatable { case fired, expired, canceled, replaced }

    private struct Timer {
        var row: TimerRow
        var partition: Int
        var fate: Fate?
    }

    private var chance: SeededGenerator
    private let desk = TimerCommands()
    /// The cluster's time in milliseconds since 1970, and the offset of this machine's clock.
    private(set) var time: Int64 = 1_800_000_000_000
    private var machineAhead: Int64 = 0
    private var logs = Array(repeating: WorldLog(), count: partitions)
    /// The disks, by process and partition.
    private var disks = Array(repeating: Array(repeating: WorldView(), count: partitions), count: 2)
    private var process = 0
    private var memory = Array(repeating: WorldMemory(), count: partitions)
    private lazy var clock = newClock
    private var stampedAt: Instant?
    private var newClock: ClusterClock { ClusterClock(now: now, confirmationMilliseconds: Self.hold) }
    private var nextID = 0
    private var timers: [String: Timer] = [:]
    private var repeated: [String: (fingerprint: String, answer: ScheduleReply.ScheduledTimer, at: Int64)] =
        [:]
    private(set) var faults: [String] = []
    private(set) var fired = 0
    private(set) var canceled = 0
    private(set) var expired = 0
    private(set) var tooLate = 0

    init(seed: UInt64) { chance = SeededGenerator(seed: seed) }

    private var now: Instant { Instant(nanoseconds: (time - 1_700_000_000_000) * 1_000_000) }
    private var wall: Int64 { time + machineAhead }

    private func fault(_ text: String) { if faults.count < 5 { faults.append(text) } }

    // MARK: Events

    func step() {
        clock.observe(machineTime: wall, at: now)
        let number = chance.number(below: Self.partitions)
        switch chance.number(below: 1000) {
        case ..<200: order(in: number)
        case ..<430: time += Int64(chance.number(below: chance.number(below: 10) == 0 ? 20_000 : 800))
        case ..<620: decide(number, failing: true)
        case ..<820: fire(failing: true)
        case ..<960: readView(number, count: 1 + chance.number(below: 20))
        case ..<985: ask(number)
        case ..<990: die(to: process)
        case ..<994: die(to: 1 - process)
        case ..<997: jump()
        case ..<998: time += Int64(chance.number(below: 3_600_000))
        default: question(number)
        }
    }

    private func jump() {
        machineAhead += [-3_600_000, -60_000, -4000, 4000, 60_000, 3_600_000][chance.number(below: 6)]
        if abs(machineAhead) > 4 * 3_600_000 { machineAhead = 0 }
        clock.observe(machineTime: wall, at: now)
    }

    private func question(_ number: Int) { logs[number].orders.append(.init(stamp: time, order: nil)) }

    private func order(in number: Int) {
        let user = Self.users[chance.number(below: Self.users.count)] + "\(number)"
        let owner = ScheduleOwner.recipient(.user(user))
        let activity = Self.activities[chance.number(below: Self.activities.count)]
        let id = "s\(chance.number(below: 6))"
        let wish: ScheduleCommand.Action
        switch chance.number(below: 10) {
        case ..<7: wish = .schedule(makeSchedule(id, activity, user))
        case 7: wish = .cancel(.activity(activity))
        case 8: wish = .cancel(.id(id))
        default: wish = .cancel(.send("send-\(max(0, nextID - chance.number(below: 10)))"))
        }
        let order = ScheduleCommand(wish, app: "shop", owner: owner, acceptedAt: wall)
        logs[number].orders.append(.init(stamp: time, order: order))
    }

    private func makeSchedule(_ id: String, _ activity: String, _ user: String) -> Schedule {
        nextID += 1
        var content = PushContent(.update)
        content.contentState = raw("{}")
        let send = Send(
            id: "send-\(nextID)", app: "shop", group: activity, audience: .users([user]), content: content,
            priority: .immediate, acceptedAt: wall)
        let delay = Int64(
            chance.number(below: 4) == 0 ? chance.number(below: 600_000) : chance.number(below: 8000))
        let when: Schedule.DueTime = chance.number(below: 2) == 0 ? .offset(delay) : .at(time + delay - 500)
        var schedule = Schedule(id: id, activity: activity, dueTime: when, send: send)
        schedule.latenessMillisecondsMax =
            [0, 5000, Schedule.latenessMillisecondsDefault][chance.number(below: 3)]
        if chance.number(below: 3) == 0 {
            schedule.idempotency = Idempotency(
                key: Self.keys[chance.number(below: Self.keys.count)],
                fingerprint: "f\(chance.number(below: 2))")
        }
        return schedule
    }

    // MARK: The process

    private func die(to other: Int) {
        process = other
        clock = newClock
        stampedAt = nil
        startOver(isNew: true)
    }

    /// Starts from the committed offsets, with views that are read again up to their ends.
    private func startOver(isNew: Bool = false) {
        for number in 0..<Self.partitions {
            let lately = isNew ? RecentlyFiredTimers() : memory[number].lately
            memory[number] = WorldMemory()
            memory[number].lately = lately
            memory[number].position = logs[number].committed
        }
    }

    private func readView(_ number: Int, count: Int) {
        var overlay = memory[number].overlay
        disks[process][number].read(logs[number], count: count) { key in
            guard let row = overlay[key] else { return }
            overlay[key] = row.outstanding > 1 ? (row.row, row.outstanding - 1) : nil
        }
        memory[number].overlay = overlay
        if disks[process][number].applied == logs[number].rows.count { memory[number].isServing = true }
        if chance.number(below: 4) == 0 { memory[number].window.retainUnwritten { overlay[$0] != nil } }
    }

    private func ask(_ number: Int) {
        guard memory[number].isServing, let time = clock.dueTime(at: now),
            memory[number].heard.mustRequestEnd(at: time)
        else { return }
        memory[number].heard.recordEnd(
            at: Int64(logs[number].orders.count), requestedAt: time, position: Int64(memory[number].position))
    }

    private func table(_ number: Int) -> WorldTable {
        WorldTable(view: disks[process][number], memory: memory[number])
    }

    private enum Outcome { case committed, failed, unseen }

    private func outcome(failing: Bool) -> Outcome {
        guard failing else { return .committed }
        switch chance.number(below: 100) {
        case ..<3: return .failed
        case ..<6: return .unseen
        default: return .committed
        }
    }

    private func decide(_ number: Int, failing: Bool) {
        guard memory[number].isServing else { return }
        let start = memory[number].position
        let end = min(logs[number].orders.count, start + 1 + chance.number(below: 8))
        if start == end { return }
        var table = table(number)
        var decided: [(order: ScheduleCommand, stamp: Int64, decision: TimerCommands.Decision)] = []
        for offset in start..<end {
            let record = logs[number].orders[offset]
            clock.observe(stamp: record.stamp, at: now)
            stampedAt = now
            guard let order = record.order,
                let decision = try? desk.decide(order, stamp: record.stamp, offset: Int64(offset), in: &table)
            else { continue }
            decided.append((order, record.stamp, decision))
        }
        let outcome = outcome(failing: failing)
        if outcome != .failed {
            for one in decided { check(one.order, one.stamp, one.decision, number) }
            write(table, number, isSeen: outcome == .committed)
            logs[number].committed = end
        }
        guard outcome == .committed else { return startOver() }
        memory[number].position = end
        memory[number].heard.advance(to: Int64(end))
    }

    private func write(_ table: WorldTable, _ number: Int, isSeen: Bool) {
        for (key, row) in table.changed {
            logs[number].rows.append((key, row))
            guard isSeen else { continue }
            let before = table.memory.overlay[key].map(\.row) ?? table.view.rows[key]
            let outstanding = memory[number].overlay[key]?.outstanding ?? 0
            memory[number].overlay[key] = (row, outstanding + 1)
            if let before, before.wakesAt != row?.wakesAt {
                disks[process][number].dropped.append(DueEntry(dueAt: before.wakesAt, key: key))
            }
            if let row {
                memory[number].window.add(DueEntry(dueAt: row.wakesAt, key: key))
            } else {
                memory[number].window.remove(key)
            }
        }
    }

    private func fillWindow(_ number: Int) {
        while memory[number].window.needsPage {
            let begin = memory[number].window.nextPageStart
            let entries = disks[process][number].entries.filter { entry in begin.map { entry > $0 } ?? true }
            let rows = 1 + chance.number(below: 8)
            memory[number].window.add(page: Array(entries.prefix(rows)), isLast: entries.count <= rows)
        }
    }

    private func fire(failing: Bool) {
        guard let time = clock.dueTime(at: now) else { return }
        var tables: [Int: WorldTable] = [:]
        var outdated: [(number: Int, entry: DueEntry)] = []
        var gone: [(number: Int, row: TimerRow)] = []
        while gone.count < Self.firesMax {
            var oldest: (number: Int, entry: DueEntry)?
            for number in 0..<Self.partitions where memory[number].isServing {
                fillWindow(number)
                guard let entry = memory[number].window.first, entry.dueAt <= time,
                    memory[number].heard.mayFire(dueAt: entry.dueAt)
                else { continue }
                if oldest.map({ entry < $0.entry }) ?? true { oldest = (number, entry) }
            }
            guard let (number, entry) = oldest else { break }
            _ = memory[number].window.takeFirst()
            var table = tables[number] ?? self.table(number)
            if let row = table.row(entry.key), row.wakesAt == entry.dueAt {
                table.changed.updateValue(nil, forKey: entry.key)
                if case .timer(let row) = row { gone.append((number, row)) }
            } else {
                outdated.append((number, entry))
            }
            tables[number] = table
        }
        let isEmpty = tables.values.allSatisfy { $0.changed.isEmpty }
        let outcome = isEmpty ? .committed : outcome(failing: failing)
        if outcome != .failed {
            if zip(gone, gone.dropFirst()).contains(where: { $0.row.dueAt > $1.row.dueAt }) {
                fault("timers do not fire in due order")
            }
            for (number, row) in gone { check(row, number, at: time) }
            for (number, table) in tables { write(table, number, isSeen: outcome == .committed) }
        }
        guard outcome == .committed else { return startOver() }
        for (number, entry) in outdated { disks[process][number].dropped.append(entry) }
        for (number, row) in gone {
            if let timer = RecentlyFiredTimers.Timer(row) { memory[number].lately.add(timer, at: time) }
        }
    }

    // MARK: Checks

    private func check(
        _ order: ScheduleCommand, _ stamp: Int64, _ decision: TimerCommands.Decision, _ number: Int
    ) {
        switch (order.action, decision.answer) {
        case (.schedule(let schedule), .scheduled(let answer)):
            accept(schedule, of: order, stamp, answer, decision, number)
        case (.schedule(let schedule), .conflict):
            guard let known = known(schedule, of: order, at: stamp),
                known.fingerprint != schedule.idempotency?.fingerprint
            else { return fault("a conflict without an earlier request") }
        case (.cancel(let choice), .cancelled(let count, let tooLate)):
            self.tooLate += tooLate
            cancel(choice, of: order, count)
        default: fault("\(decision.answer) is the wrong answer to \(order.action)")
        }
    }

    private func known(_ schedule: Schedule, of order: ScheduleCommand, at stamp: Int64)
        -> (fingerprint: String, answer: ScheduleReply.ScheduledTimer, at: Int64)?
    {
        guard let key = schedule.idempotency?.key, let known = repeated[order.owner.text + "/" + key],
            stamp - known.at < Idempotency.retentionMilliseconds
        else { return nil }
        return known
    }

    private func accept(
        _ schedule: Schedule, of order: ScheduleCommand, _ stamp: Int64,
        _ answer: ScheduleReply.ScheduledTimer,
        _ decision: TimerCommands.Decision, _ number: Int
    ) {
        if let known = known(schedule, of: order, at: stamp) {
            if known.answer != answer || decision.outcome != .repeated {
                fault("a repetition has another answer")
            }
            return
        }
        if let idempotency = schedule.idempotency {
            repeated[order.owner.text + "/" + idempotency.key] = (idempotency.fingerprint, answer, stamp)
        }
        let older = timers.filter { _, timer in
            timer.fate == nil && timer.row.owner == order.owner && timer.row.id == schedule.id
        }
        if older.isEmpty == answer.isReplacement { fault("\(schedule.id) has the wrong value of replaced") }
        for key in older.keys { timers[key]?.fate = .replaced }
        var row = TimerRow(
            app: order.app, owner: order.owner, id: schedule.id, activity: schedule.activity,
            dueAt: answer.dueAt, latenessMillisecondsMax: schedule.latenessMillisecondsMax,
            send: schedule.send, commandOffset: 0)
        row.send.scheduledAt = stamp
        if case .offset(let offset) = schedule.dueTime, answer.dueAt != stamp + offset {
            fault("an offset does not count from the stamp")
        }
        timers[schedule.send.id] = Timer(row: row, partition: number)
    }

    private func cancel(_ choice: ScheduleCommand.TimerSelection, of order: ScheduleCommand, _ count: Int) {
        let meant = timers.filter { _, timer in
            guard timer.fate == nil, timer.row.owner == order.owner else { return false }
            return switch choice {
            case .activity(let name): timer.row.activity == name
            case .id(let id): timer.row.id == id
            case .send(let id): timer.row.send.id == id
            case .everything: true
            }
        }
        if meant.count != count { fault("\(meant.count) timers match the cancel, \(count) were cancelled") }
        for key in meant.keys { timers[key]?.fate = .canceled }
        canceled += count
    }

    private func check(_ row: TimerRow, _ number: Int, at decided: Int64) {
        guard let timer = timers[row.send.id] else { return fault("\(row.send.id) was never accepted") }
        if let fate = timer.fate { return fault("\(row.send.id) fires and was already \(fate)") }
        if time < row.dueAt { fault("\(row.send.id) fires \(row.dueAt - time) ms early") }
        if time < decided { fault("the clock is ahead of the cluster") }
        guard case .fires(let send) = row.outcome(at: decided) else {
            expired += 1
            if time - row.dueAt <= row.latenessMillisecondsMax { fault("\(row.send.id) expires too early") }
            timers[row.send.id]?.fate = .expired
            return
        }
        fired += 1
        timers[row.send.id]?.fate = .fired
        if send.acceptedAt != row.dueAt || send.scheduledAt != timer.row.send.scheduledAt {
            fault("\(row.send.id) does not carry its due time")
        }
        // The scheduler has read everything that was acknowledged in time, even if it is not processed yet.
        let late = logs[number].orders[logs[number].committed...].contains { record in
            guard record.stamp <= row.dueAt - OrderReadProgress.cancelLeadMilliseconds,
                let order = record.order,
                order.owner == row.owner
            else { return false }
            switch order.action {
            case .cancel(.activity(let name)): return row.activity == name
            case .cancel(.id(let id)): return row.id == id
            case .cancel(.send(let id)): return row.send.id == id
            case .cancel(.everything): return true
            case .schedule, .list: return false
            }
        }
        if late { fault("\(row.send.id) fires but was cancelled in time") }
    }

    private var isStale: Bool { stampedAt.map { now.milliseconds(since: $0) >= 10_000 } ?? true }

    /// Runs until no timer waits.
    func finish() {
        for _ in 0..<4000 {
            clock.observe(machineTime: wall, at: now)
            for number in 0..<Self.partitions {
                readView(number, count: Int.max >> 1)
                decide(number, failing: false)
                if isStale || clock.isDoubtful { question(number) }
                ask(number)
            }
            fire(failing: false)
            time += 500
        }
        let left = timers.values.filter { $0.fate == nil }
        if !left.isEmpty { fault("\(left.count) timers never fired, such as \(left[0].row.send.id)") }
        if memory.contains(where: { $0.window.unwrittenCount > 1000 }) {
            fault("the memory grows without bound")
        }
    }
}
