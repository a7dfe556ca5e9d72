import Identifiers
import Schedules
import Sends
import Testing

@testable import Scheduler

/// Tests of the decisions about commands of users and backends: replacement, cancels, erasures, lists, repeated requests,
/// and limits.
@Suite struct TimerCommandsTests {
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
        // The timer of ada, the end of her group, and the send to her alone are deleted.
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
        // The key was used at 1000, so it is known until 86,401,000.
        #expect(try decide(schedule("f", "r-2"), at: 86_400_999, in: &table) == first)
        #expect(try decide(schedule("g", "r-2"), at: 86_400_999, in: &table) == .conflict(send: "r-1"))
        #expect(table.rows.isEmpty)
        #expect(
            try decide(schedule("g", "r-2"), at: 86_401_000, in: &table)
                == .scheduled(.init(id: "r-2", dueAt: 86_402_000, send: "r-2", isReplacement: false)))
    }

    @Test func `a schedule beyond a limit is refused with a reason`() throws {
        var table = PlainTable()
        func isRefused(id: String) throws -> Bool {
            let schedule = Schedule(id: id, dueTime: .at(5), send: makeSend())
            if case .refused = try decide(command(.schedule(schedule)), in: &table) { return true }
            return false
        }
        for number in 0..<TimerCommands.timersMax {
            let isTimerRefused = try isRefused(id: "s\(number)")
            #expect(!isTimerRefused)
        }
        let isNextRefused = try isRefused(id: "more")
        #expect(isNextRefused, "the number of timers is limited")
        let isReplacementRefused = try isRefused(id: "s1")
        #expect(!isReplacementRefused)
        // A slash is escaped as three bytes, so the key is too long for the store.
        let isLongIDRefused = try isRefused(id: String(repeating: "/", count: 150))
        #expect(isLongIDRefused)
    }
}
