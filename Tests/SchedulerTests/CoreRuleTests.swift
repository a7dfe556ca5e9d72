import Identifiers
import JSON
import Lifecycle
import Payloads
import RecordFormat
import Schedules
import Sends
import StageSupport
import Store
import Testing

@testable import Scheduler

private func entry(_ at: Int64, _ key: String = "k") -> DueEntry {
    DueEntry(dueAt: at, key: HashedKey(Array(key.utf8)))
}

/// The rows of `timers` in memory, as the table of a transaction.
private struct PlainTable: TimerTable {
    var rows: [[UInt8]: TimerRow] = [:]
    var idempotencyRows: [[UInt8]: ScheduleIdempotencyRow] = [:]
    /// The number of recently fired timers that every cancel matches.
    var firedCount = 0

    func timers(of owner: ScheduleOwner, app: String) -> [TimerRow] {
        rows.values.filter { $0.owner == owner && $0.app == app }
    }
    func timers(naming user: String, app: String) -> [TimerRow] {
        rows.values.filter { $0.app == app && $0.send.names(user) }
    }
    func idempotencyRow(for key: [UInt8]) -> ScheduleIdempotencyRow? { idempotencyRows[key] }
    mutating func set(_ row: TimerRow) { rows[row.key] = row }
    mutating func set(_ request: ScheduleIdempotencyRow, key: [UInt8]) { idempotencyRows[key] = request }
    mutating func remove(_ row: TimerRow) { rows[row.key] = nil }
    func recentlyFiredCount(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    ) -> Int {
        firedCount
    }
}

private func makeSend(_ id: String = "r-1", user: String = "ben") -> Send {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    return Send(
        id: id, app: "shop", group: "chest", audience: .users([user]), content: content, priority: .immediate,
        acceptedAt: 1)
}

private func command(_ action: ScheduleCommand.Action, user: String = "ben") -> ScheduleCommand {
    ScheduleCommand(action, app: "shop", owner: .recipient(.user(user)), acceptedAt: 1)
}

/// Decides a command. Returns the answer.
private func decide(_ command: ScheduleCommand, at stamp: Int64 = 1000, in table: inout PlainTable) throws
    -> GatewayReply.Outcome
{
    try TimerCommands().decide(command, stamp: stamp, offset: 7, in: &table).answer
}

/// Tests of the scheduler's rules that need no Kafka, one by one: due times, replacement, cancels, lists, repeated
/// requests, limits, and automatic ends of groups.
@Suite struct CoreRuleTests {
    @Test func `entries are stored in due order and read back`() {
        let entries = [entry(5, "b"), entry(300, "a"), entry(300, "b"), entry(70_000, "a")]
        #expect(entries.sorted() == entries)
        for (earlier, later) in zip(entries, entries.dropFirst()) {
            #expect(earlier.storedKey.lexicographicallyPrecedes(later.storedKey))
        }
        for entry in entries { #expect(DueEntry(storedKey: entry.storedKey.span) == entry) }
        #expect(DueEntry(storedKey: Array("shop/u:ben/s1".utf8).span) == nil)
    }

    @Test func `a timer that fires names the schedule behind its send, and an automatic end has none`() throws
    {
        var row = TimerRow(
            app: "shop", owner: .recipient(.user("ben")), id: "daily", name: "Chest", dueAt: 12,
            latenessMillisecondsMax: 1, send: makeSend(), commandOffset: 3)
        let progress = try #require(row.firedProgress(of: row.send, at: 13))
        #expect(progress.send == "r-1" && progress.writtenAt == 13)
        #expect(progress.part == .schedule(.init(id: "daily", name: "Chest")))
        #expect(try ProgressRecord.decode(progress.encoded(), with: JSONReader()) == progress)
        row.id = nil
        #expect(row.firedProgress(of: row.send, at: 13) == nil)
    }

    @Test func `a timer row is due at its time, an idempotency row one day after its stamp`() {
        let row = TimerRow(
            app: "shop", owner: .recipient(.user("ben")), id: "dueAt", name: "\"dueAt\":1", dueAt: 12,
            latenessMillisecondsMax: 1, send: makeSend(), commandOffset: 3)
        #expect(DueEntry(rowKey: row.key.span, row: row.encoded().span)?.dueAt == 12)
        let idempotencyRow = ScheduleIdempotencyRow(
            fingerprint: "f", scheduledTimer: .init(id: "s", dueAt: 5, send: "r", isReplacement: false),
            writtenAt: 9)
        let key = ScheduleIdempotencyRow.key(app: "shop", owner: row.owner, idempotencyKey: "k")
        #expect(
            DueEntry(rowKey: key.span, row: idempotencyRow.encoded().span)?.dueAt == 86_400_009 as Int64)
        for invalid in [
            "", "{}", #"{"v":1,"at":5}"#, #"{"v":1,"dueAt":}"#, #"{"v":1,"dueAt":99999999999999999999}"#,
        ] {
            #expect(DueEntry(rowKey: row.key.span, row: Array(invalid.utf8).span) == nil, "\(invalid)")
        }
    }

    @Test func `a timer fires when all commands up to two seconds before its due time are known`() {
        var progress = CommandReadProgress()
        #expect(!progress.mayFire(dueAt: 0))
        #expect(progress.mustRequestEnd(at: 0))
        progress.recordEnd(at: 10, requestedAt: 50_000, position: 9)
        #expect(!progress.mayFire(dueAt: 50_000))
        #expect(!progress.mustRequestEnd(at: 90_000))
        progress.advance(to: 10)
        #expect(progress.mayFire(dueAt: 52_000))
        #expect(!progress.mayFire(dueAt: 52_001))
        #expect(!progress.mustRequestEnd(at: 50_499))
        #expect(progress.mustRequestEnd(at: 50_500))
        progress.recordEnd(at: 10, requestedAt: 60_000, position: 10)
        #expect(progress.mayFire(dueAt: 62_000))
    }

    @Test func `the rate of firing is bounded, and unused budget does not accumulate`() {
        var budget = FiringBudget(perSecond: 1000)
        let start = Instant(nanoseconds: 0)
        #expect(budget.available(at: start) == 100)
        budget.consume(100)
        #expect(budget.available(at: start) == 0)
        #expect(budget.available(at: start.advanced(byMilliseconds: 50)) == 50)
        #expect(budget.available(at: start.advanced(byMilliseconds: 60_000)) == 100)
    }

    @Test func `a timer beyond its maximum lateness expires, another counts as accepted at its due time`() {
        var row = TimerRow(
            app: "shop", owner: .group("g"), id: "s", dueAt: 1000, latenessMillisecondsMax: 500,
            send: makeSend(), commandOffset: 1)
        row.send.scheduledAt = 10
        var expectedSend = row.send
        expectedSend.acceptedAt = 1000
        #expect(row.outcome(at: 1500) == .fires(expectedSend))
        #expect(row.outcome(at: 1501) == .expires)
    }

    @Test func `a schedule with the same id replaces the timer of the same owner only`() throws {
        var table = PlainTable()
        for user in ["ben", "ada"] {
            let answer = try decide(
                command(
                    .schedule(Schedule(id: "s", dueTime: .offset(60_000), send: makeSend("r-" + user))),
                    user: user),
                in: &table)
            #expect(
                answer == .scheduled(.init(id: "s", dueAt: 61_000, send: "r-" + user, isReplacement: false)))
        }
        let answer = try decide(
            command(.schedule(Schedule(id: "s", dueTime: .at(90_000), send: makeSend("r-2")))), at: 2000,
            in: &table)
        #expect(answer == .scheduled(.init(id: "s", dueAt: 90_000, send: "r-2", isReplacement: true)))
        #expect(table.rows.count == 2)
        #expect(table.timers(of: .recipient(.user("ben")), app: "shop")[0].send.scheduledAt == 2000)
    }

    @Test func `a cancel removes the named timers of its owner and returns their number`() throws {
        var table = PlainTable()
        for (id, activity) in [("a", "chest_0"), ("b", "chest_0"), ("c", "chest_1"), ("d", nil)] {
            for user in ["ben", "ada"] {
                let schedule = Schedule(
                    id: id, activity: activity, dueTime: .at(5000), send: makeSend("r-" + id, user: user))
                _ = try decide(command(.schedule(schedule), user: user), in: &table)
            }
        }
        #expect(try decide(command(.cancel(.activity("chest_0"))), in: &table) == .cancelled(2, tooLate: 0))
        #expect(try decide(command(.cancel(.activity("chest_0"))), in: &table) == .cancelled(0, tooLate: 0))
        #expect(try decide(command(.cancel(.send("r-c"))), in: &table) == .cancelled(1, tooLate: 0))
        table.firedCount = 3
        #expect(try decide(command(.cancel(.id("d"))), in: &table) == .cancelled(1, tooLate: 3))
        #expect(table.timers(of: .recipient(.user("ben")), app: "shop").isEmpty)
        #expect(table.timers(of: .recipient(.user("ada")), app: "shop").count == 4)
    }

    @Test func `an erasure deletes the user's timers and takes the name out of the sends to several people`()
        throws
    {
        var table = PlainTable()
        for user in ["ben", "ada"] {
            let schedule = Schedule(id: "a", dueTime: .at(5000), send: makeSend("r-\(user)", user: user))
            _ = try decide(command(.schedule(schedule), user: user), in: &table)
        }
        let end = AutomaticEnd(app: "shop", group: "m", owner: .user("ada"), generation: 1, endsAt: 9)
        _ = try TimerCommands().decide(end, stamp: 3000, offset: 8, in: &table)
        func schedule(_ id: String, to users: [String]) throws {
            var send = makeSend(id)
            send.audience = .users(users)
            let command = ScheduleCommand(
                .schedule(Schedule(id: id, dueTime: .at(5000), send: send)), app: "shop",
                owner: .group("chest"), acceptedAt: 1)
            _ = try decide(command, in: &table)
        }
        try schedule("several", to: ["ben", "ada", "carl"])
        try schedule("only", to: ["ada"])
        try schedule("others", to: ["ben", "carl"])
        #expect(try decide(command(.erase, user: "ada"), in: &table) == .cancelled(3, tooLate: 0))
        #expect(table.timers(of: .recipient(.user("ada")), app: "shop").isEmpty)
        #expect(table.timers(of: .recipient(.user("ben")), app: "shop").count == 1)
        let audiences = table.timers(of: .group("chest"), app: "shop").map(\.send.audience)
        #expect(audiences == [.users(["ben", "carl"]), .users(["ben", "carl"])])
    }

    @Test func `a list names the next timers and says whether it is complete`() throws {
        var table = PlainTable()
        for (id, time) in [("a", 9), ("b", 7), ("c", 8)] {
            _ = try decide(
                command(.schedule(Schedule(id: id, dueTime: .at(Int64(time)), send: makeSend()))), in: &table)
        }
        guard case .listed(let firstTwo, false) = try decide(command(.list(2)), in: &table),
            case .listed(let allTimers, true) = try decide(command(.list(3)), in: &table)
        else {
            Issue.record("a list has the wrong completeness")
            return
        }
        #expect(firstTwo.map(\.id) == ["b", "c"])
        #expect(allTimers.map(\.id) == ["b", "c", "a"])
        // The next page begins behind the last timer, also if that timer has gone meanwhile.
        let position = try #require(firstTwo.last?.position)
        _ = try decide(command(.cancel(.id("c"))), in: &table)
        #expect(
            try decide(command(.list(2, after: position)), in: &table)
                == .listed([allTimers[2]], isComplete: true))
    }

    @Test func `a repeated key gets the first answer for a day, and another body is a conflict`()
        throws
    {
        var table = PlainTable()
        func schedule(_ fingerprint: String, _ send: String) -> ScheduleCommand {
            var schedule = Schedule(id: send, dueTime: .offset(1000), send: makeSend(send))
            schedule.idempotency = .init(key: "k", fingerprint: fingerprint)
            return command(.schedule(schedule))
        }
        let first = try decide(schedule("f", "r-1"), at: 1000, in: &table)
        _ = try decide(command(.cancel(.id("r-1"))), at: 1001, in: &table)
        #expect(try decide(schedule("f", "r-2"), at: 86_400_999, in: &table) == first)
        #expect(try decide(schedule("g", "r-2"), at: 86_400_999, in: &table) == .conflict(send: "r-1"))
        #expect(table.rows.isEmpty)
        #expect(
            try decide(schedule("g", "r-2"), at: 86_401_000, in: &table)
                == .scheduled(.init(id: "r-2", dueAt: 86_402_000, send: "r-2", isReplacement: false)))
    }

    @Test func `a schedule beyond a limit is refused with a reason`() throws {
        var table = PlainTable()
        for number in 0..<TimerCommands.timersMax {
            _ = try decide(
                command(.schedule(Schedule(id: "s\(number)", dueTime: .at(5), send: makeSend()))), in: &table)
        }
        guard
            case .refused = try decide(
                command(.schedule(Schedule(id: "more", dueTime: .at(5), send: makeSend()))), in: &table)
        else {
            Issue.record("one timer too many was accepted")
            return
        }
        guard
            case .scheduled = try decide(
                command(.schedule(Schedule(id: "s1", dueTime: .at(5), send: makeSend()))), in: &table)
        else {
            Issue.record("a timer could not be replaced")
            return
        }
        let long = String(repeating: "/", count: 150)
        guard
            case .refused = try decide(
                command(.schedule(Schedule(id: long, dueTime: .at(5), send: makeSend()))), in: &table)
        else {
            Issue.record("a key was accepted that is too long for the store")
            return
        }
    }

    @Test func `every group that a send may name can have an automatic end`() throws {
        var table = PlainTable()
        for recipient in [nil, Recipient.user("ada%%%")] {
            var key = ScopeKey(app: "shop", group: "", recipient: recipient)
            while key.bytes.count < ScopeKey.bytesMax {
                key.subject = .group(
                    (key.group ?? "") + (key.bytes.count + 3 > ScopeKey.bytesMax ? "m" : "%"))
            }
            let end = AutomaticEnd(
                app: "shop", group: key.group ?? "", owner: recipient, generation: 5, endsAt: 100)
            #expect(try TimerCommands().decide(end, stamp: 3000, offset: 1, in: &table) == .set(.scheduled))
        }
    }

    @Test func `an automatic end whose key is too long for a timer is rejected, and sets none`() throws {
        var table = PlainTable()
        let end = AutomaticEnd(
            app: "shop", group: String(repeating: "/", count: 200), owner: .user("ada"), generation: 5,
            endsAt: 100)
        guard
            case .keyTooLong(let byteCount) = try TimerCommands().decide(
                end, stamp: 3000, offset: 1, in: &table)
        else {
            Issue.record("the end is not rejected")
            return
        }
        #expect(byteCount > TimerCommands.keyBytesMax && table.rows.isEmpty)
    }

    @Test func `a group's end is one timer of its newest generation`() throws {
        var table = PlainTable()
        func end(_ generation: Int64, at: Int64) throws -> TimerCommands.EndDecision {
            try TimerCommands().decide(
                AutomaticEnd(app: "shop", group: "m", owner: nil, generation: generation, endsAt: at),
                stamp: 3000,
                offset: 1, in: &table)
        }
        #expect(try end(5, at: 100) == .set(.scheduled))
        #expect(try end(5, at: 90) == .set(.replaced))
        #expect(try end(4, at: 80) == .outdated)
        #expect(table.rows.count == 1)
        guard let row = table.rows.values.first else { return }
        #expect(row.dueAt == 90_000 && row.owner == .group("m"))
        #expect(row.send.content.event == .end && row.send.audience == .group)
        #expect(row.send.generation == 5 && row.send.scheduledAt == 3000 && row.send.problem == nil)
        #expect(row.send.deadline.map { $0 > row.dueAt / 1000 } ?? false)
        #expect(row.outcome(at: row.dueAt + 3_600_000) != .expires)
        // No cancel can name it, and no list shows it.
        #expect(
            try decide(
                ScheduleCommand(.cancel(.send(row.send.id)), app: "shop", owner: .group("m"), acceptedAt: 1),
                in: &table) == .cancelled(0, tooLate: 0))
    }

    @Test func `fired timers are remembered for a minute and up to a limit`() throws {
        var recentlyFired = RecentlyFiredTimers()
        let owner = ScheduleOwner.recipient(.user("ben"))
        func add(_ number: Int, at time: Int64) throws {
            let row = TimerRow(
                app: "shop", owner: owner, id: "s\(number)", activity: "chest", dueAt: 0,
                latenessMillisecondsMax: 0,
                send: makeSend("r-\(number)"), commandOffset: 0)
            recentlyFired.add(try #require(RecentlyFiredTimers.Timer(row)), at: time)
        }
        try add(0, at: 0)
        for selection: ScheduleCommand.TimerSelection in [.activity("chest"), .id("s0"), .send("r-0")] {
            #expect(recentlyFired.count(matching: selection, of: owner, app: "shop", at: 60_000) == 1)
            #expect(recentlyFired.count(matching: selection, of: owner, app: "shop", at: 60_001) == 0)
            #expect(recentlyFired.count(matching: selection, of: .group("ben"), app: "shop", at: 1) == 0)
            #expect(recentlyFired.count(matching: selection, of: owner, app: "other", at: 1) == 0)
        }
        #expect(recentlyFired.count(matching: .id("s1"), of: owner, app: "shop", at: 1) == 0)
        for number in 0..<3 * RecentlyFiredTimers.countMax { try add(number, at: 1) }
        #expect(
            recentlyFired.count(matching: .activity("chest"), of: owner, app: "shop", at: 2)
                == RecentlyFiredTimers.countMax)
    }
}
