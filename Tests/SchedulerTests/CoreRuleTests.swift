import Lifecycle
import LiveActivity
import StageSupport
import Store
import Testing

@testable import Scheduler

private func entry(_ at: Int64, _ key: String = "k") -> DueEntry {
    DueEntry(at: at, key: KeyBytes(Array(key.utf8)))
}

private struct PlainTable: TimerTable {
    var rows: [[UInt8]: TimerRow] = [:]
    var orders: [[UInt8]: SeenOrder] = [:]
    var tooLate = 0

    func timers(of owner: ScheduleOwner, app: String) -> [TimerRow] {
        rows.values.filter { $0.owner == owner && $0.app == app }
    }
    func seen(_ key: [UInt8]) -> SeenOrder? { orders[key] }
    mutating func set(_ row: TimerRow) { rows[row.key] = row }
    mutating func set(_ seen: SeenOrder, key: [UInt8]) { orders[key] = seen }
    mutating func remove(_ row: TimerRow) { rows[row.key] = nil }
    func lately(_ choice: ScheduleOrder.Choice, of owner: ScheduleOwner, app: String, at time: Int64) -> Int {
        tooLate
    }
}

private func makeSend(_ id: String = "r-1", user: String = "ben") -> Send {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    return Send(
        id: id, app: "shop", group: "chest", audience: .users([user]), content: content, priority: 10,
        acceptedAt: 1)
}

private func order(_ wish: ScheduleOrder.Wish, user: String = "ben") -> ScheduleOrder {
    ScheduleOrder(wish, app: "shop", owner: .recipient(.user(user)), acceptedAt: 1)
}

private func decide(_ order: ScheduleOrder, at stamp: Int64 = 1000, in table: inout PlainTable) throws
    -> ScheduleReply.Answer
{
    try OrderDesk().decide(order, stamp: stamp, offset: 7, in: &table).answer
}

@Suite struct CoreRuleTests {
    @Test func `entries are stored in due order and read back`() {
        let entries = [entry(5, "b"), entry(300, "a"), entry(300, "b"), entry(70_000, "a")]
        #expect(entries.sorted() == entries)
        for (one, next) in zip(entries, entries.dropFirst()) {
            #expect(one.stored.lexicographicallyPrecedes(next.stored))
        }
        for one in entries { #expect(DueEntry(stored: one.stored.span) == one) }
        #expect(DueEntry(stored: Array("shop/u:ben/s1".utf8).span) == nil)
    }

    @Test func `a timer row is due at its time, a seen order one day after its stamp`() {
        let row = TimerRow(
            app: "shop", owner: .recipient(.user("ben")), id: "dueAt", name: "\"dueAt\":1", dueAt: 12,
            latenessMax: 1, send: makeSend(), offset: 3)
        #expect(DueEntry(of: row.key.span, row.encoded().span)?.at == 12)
        let seen = SeenOrder(
            fingerprint: "f", answer: .init(id: "s", dueAt: 5, send: "r", replaced: false), at: 9)
        let key = SeenOrder.key(app: "shop", owner: row.owner, idempotencyKey: "k")
        #expect(DueEntry(of: key.span, seen.encoded().span)?.at == 86_400_009 as Int64)
        for bad in [
            "", "{}", #"{"v":1,"at":5}"#, #"{"v":1,"dueAt":}"#, #"{"v":1,"dueAt":99999999999999999999}"#,
        ] {
            #expect(DueEntry(of: row.key.span, Array(bad.utf8).span) == nil, "\(bad)")
        }
    }

    @Test func `a timer fires when all orders up to two seconds before its due time are known`() {
        var heard = HeardOrders()
        #expect(!heard.mayFire(dueAt: 0) && heard.mustAsk(at: 0))
        heard.ends(at: 10, asked: 50_000, position: 9)
        #expect(!heard.mayFire(dueAt: 50_000) && !heard.mustAsk(at: 90_000))
        heard.reached(10)
        #expect(heard.mayFire(dueAt: 52_000) && !heard.mayFire(dueAt: 52_001))
        #expect(!heard.mustAsk(at: 50_499) && heard.mustAsk(at: 50_500))
        heard.ends(at: 10, asked: 60_000, position: 10)
        #expect(heard.mayFire(dueAt: 62_000))
    }

    @Test func `the rate of firing is bounded, and unused budget does not accumulate`() {
        var budget = FiringBudget(perSecond: 1000)
        let start = Instant(nanoseconds: 0)
        #expect(budget.available(at: start) == 100)
        budget.use(100)
        #expect(budget.available(at: start) == 0)
        #expect(budget.available(at: start.advanced(byMilliseconds: 50)) == 50)
        #expect(budget.available(at: start.advanced(byMilliseconds: 60_000)) == 100)
    }

    @Test func `a timer beyond its maximum lateness expires, another counts as accepted at its due time`() {
        var row = TimerRow(
            app: "shop", owner: .group("g"), id: "s", dueAt: 1000, latenessMax: 500, send: makeSend(),
            offset: 1)
        row.send.scheduledAt = 10
        var sent = row.send
        sent.acceptedAt = 1000
        #expect(row.fate(at: 1500) == .fires(sent))
        #expect(row.fate(at: 1501) == .expires)
    }

    @Test func `a schedule with the same id replaces the timer of the same owner only`() throws {
        var table = PlainTable()
        for user in ["ben", "ada"] {
            let answer = try decide(
                order(.schedule(Schedule(id: "s", .offset(60_000), makeSend("r-" + user))), user: user),
                in: &table)
            #expect(
                answer == .scheduled(.init(id: "s", dueAt: 61_000, send: "r-" + user, replaced: false)))
        }
        let answer = try decide(
            order(.schedule(Schedule(id: "s", .at(90_000), makeSend("r-2")))), at: 2000, in: &table)
        #expect(answer == .scheduled(.init(id: "s", dueAt: 90_000, send: "r-2", replaced: true)))
        #expect(table.rows.count == 2)
        #expect(table.timers(of: .recipient(.user("ben")), app: "shop")[0].send.scheduledAt == 2000)
    }

    @Test func `a cancel removes the named timers of its owner and returns their number`() throws {
        var table = PlainTable()
        for (id, activity) in [("a", "chest_0"), ("b", "chest_0"), ("c", "chest_1"), ("d", nil)] {
            for user in ["ben", "ada"] {
                let schedule = Schedule(
                    id: id, activity: activity, .at(5000), makeSend("r-" + id, user: user))
                _ = try decide(order(.schedule(schedule), user: user), in: &table)
            }
        }
        #expect(try decide(order(.cancel(.activity("chest_0"))), in: &table) == .canceled(2, tooLate: 0))
        #expect(try decide(order(.cancel(.activity("chest_0"))), in: &table) == .canceled(0, tooLate: 0))
        #expect(try decide(order(.cancel(.send("r-c"))), in: &table) == .canceled(1, tooLate: 0))
        table.tooLate = 3
        #expect(try decide(order(.cancel(.id("d"))), in: &table) == .canceled(1, tooLate: 3))
        #expect(table.timers(of: .recipient(.user("ben")), app: "shop").isEmpty)
        #expect(table.timers(of: .recipient(.user("ada")), app: "shop").count == 4)
        // A user who is erased has no automatic ends left either.
        let end = EndSchedule(app: "shop", group: "m", owner: .user("ada"), generation: 1, at: 9)
        _ = try OrderDesk().decide(end, stamp: 3000, offset: 8, in: &table)
        #expect(
            try decide(order(.cancel(.everything), user: "ada"), in: &table) == .canceled(5, tooLate: 3))
        #expect(table.rows.isEmpty)
    }

    @Test func `a list names the next timers and says whether it is complete`() throws {
        var table = PlainTable()
        for (id, time) in [("a", 9), ("b", 7), ("c", 8)] {
            _ = try decide(order(.schedule(Schedule(id: id, .at(Int64(time)), makeSend()))), in: &table)
        }
        guard case .listed(let two, false) = try decide(order(.list(2)), in: &table),
            case .listed(let all, true) = try decide(order(.list(3)), in: &table)
        else {
            Issue.record("a list has the wrong completeness")
            return
        }
        #expect(two.map(\.id) == ["b", "c"] && all.map(\.id) == ["b", "c", "a"])
    }

    @Test func `a repeated key gets the first answer for a day, and another body is a conflict`()
        throws
    {
        var table = PlainTable()
        func schedule(_ fingerprint: String, _ send: String) -> ScheduleOrder {
            var schedule = Schedule(id: send, .offset(1000), makeSend(send))
            schedule.idempotency = .init(key: "k", fingerprint: fingerprint)
            return order(.schedule(schedule))
        }
        let first = try decide(schedule("f", "r-1"), at: 1000, in: &table)
        _ = try decide(order(.cancel(.id("r-1"))), at: 1001, in: &table)
        #expect(try decide(schedule("f", "r-2"), at: 86_400_999, in: &table) == first)
        #expect(try decide(schedule("g", "r-2"), at: 86_400_999, in: &table) == .conflict)
        #expect(table.rows.isEmpty)
        #expect(
            try decide(schedule("g", "r-2"), at: 86_401_000, in: &table)
                == .scheduled(.init(id: "r-2", dueAt: 86_402_000, send: "r-2", replaced: false)))
    }

    @Test func `a schedule beyond a limit is refused with a reason`() throws {
        var table = PlainTable()
        for number in 0..<OrderDesk.timersMax {
            _ = try decide(order(.schedule(Schedule(id: "s\(number)", .at(5), makeSend()))), in: &table)
        }
        guard
            case .refused = try decide(order(.schedule(Schedule(id: "more", .at(5), makeSend()))), in: &table)
        else {
            Issue.record("one timer too many was accepted")
            return
        }
        guard
            case .scheduled = try decide(order(.schedule(Schedule(id: "s1", .at(5), makeSend()))), in: &table)
        else {
            Issue.record("a timer could not be replaced")
            return
        }
        let long = String(repeating: "/", count: 150)
        guard case .refused = try decide(order(.schedule(Schedule(id: long, .at(5), makeSend()))), in: &table)
        else {
            Issue.record("a key was accepted that is too long for the store")
            return
        }
    }

    @Test func `every group that a send may name can have an automatic end`() throws {
        var table = PlainTable()
        for recipient in [nil, Recipient.user("ada%%%")] {
            var key = GroupKey(app: "shop", group: "", recipient: recipient)
            while key.bytes.count < GroupKey.bytesMax {
                key.subject = .group(
                    (key.group ?? "") + (key.bytes.count + 3 > GroupKey.bytesMax ? "m" : "%"))
            }
            let end = EndSchedule(
                app: "shop", group: key.group ?? "", owner: recipient, generation: 5, at: 100)
            #expect(try OrderDesk().decide(end, stamp: 3000, offset: 1, in: &table) == .scheduled)
        }
    }

    @Test func `a group's end is one timer of its newest generation`() throws {
        var table = PlainTable()
        func end(_ generation: Int64, at: Int64) throws -> OrderDesk.Decision.Outcome? {
            try OrderDesk().decide(
                EndSchedule(app: "shop", group: "m", owner: nil, generation: generation, at: at), stamp: 3000,
                offset: 1, in: &table)
        }
        #expect(try end(5, at: 100) == .scheduled)
        #expect(try end(5, at: 90) == .replaced)
        #expect(try end(4, at: 80) == nil)
        #expect(table.rows.count == 1)
        guard let row = table.rows.values.first else { return }
        #expect(row.dueAt == 90_000 && row.owner == .group("m"))
        #expect(row.send.content.event == .end && row.send.audience == .group)
        #expect(row.send.generation == 5 && row.send.scheduledAt == 3000 && row.send.problem == nil)
        #expect(row.send.deadline.map { $0 > row.dueAt / 1000 } ?? false)
        #expect(row.fate(at: row.dueAt + 3_600_000) != .expires)
        // No cancel can name it, and no list shows it.
        #expect(
            try decide(
                ScheduleOrder(.cancel(.send(row.send.id)), app: "shop", owner: .group("m"), acceptedAt: 1),
                in: &table) == .canceled(0, tooLate: 0))
    }

    @Test func `fired timers are remembered for a minute and up to a limit`() throws {
        var lately = LatelyFired()
        let owner = ScheduleOwner.recipient(.user("ben"))
        func add(_ number: Int, at time: Int64) throws {
            let row = TimerRow(
                app: "shop", owner: owner, id: "s\(number)", activity: "chest", dueAt: 0, latenessMax: 0,
                send: makeSend("r-\(number)"), offset: 0)
            lately.add(try #require(LatelyFired.Fired(row)), at: time)
        }
        try add(0, at: 0)
        for choice: ScheduleOrder.Choice in [.activity("chest"), .id("s0"), .send("r-0")] {
            #expect(lately.count(choice, of: owner, app: "shop", at: 60_000) == 1)
            #expect(lately.count(choice, of: owner, app: "shop", at: 60_001) == 0)
            #expect(lately.count(choice, of: .group("ben"), app: "shop", at: 1) == 0)
            #expect(lately.count(choice, of: owner, app: "other", at: 1) == 0)
        }
        #expect(lately.count(.id("s1"), of: owner, app: "shop", at: 1) == 0)
        for number in 0..<3 * LatelyFired.countMax { try add(number, at: 1) }
        #expect(lately.count(.activity("chest"), of: owner, app: "shop", at: 2) == LatelyFired.countMax)
    }
}
