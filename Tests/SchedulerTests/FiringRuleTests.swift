import Identifiers
import JSON
import Lifecycle
import RecordFormat
import Schedules
import Sends
import Testing

@testable import Scheduler

/// Tests of the rules about the moment at which a timer fires, and about the records of its firing.
@Suite struct FiringRuleTests {
    @Test func `a timer fires when all commands up to two seconds before its due time are known`() {
        var progress = CommandReadProgress()
        #expect(!progress.mayFire(dueAt: 0))
        // The partition ends at 10, and one command below that is not processed yet.
        progress.recordEnd(at: 10, requestedAt: 50_000, position: 9)
        #expect(!progress.mayFire(dueAt: 50_000))
        progress.advance(to: 10)
        #expect(progress.mayFire(dueAt: 52_000))
        #expect(!progress.mayFire(dueAt: 52_001))
        // All commands up to the end are processed already.
        progress.recordEnd(at: 10, requestedAt: 60_000, position: 10)
        #expect(progress.mayFire(dueAt: 62_000))
    }

    @Test func `the end of the partition is asked for again when the known time is half a second old`() {
        var progress = CommandReadProgress()
        #expect(progress.mustRequestEnd(at: 0), "no time is known")
        progress.recordEnd(at: 10, requestedAt: 50_000, position: 9)
        #expect(!progress.mustRequestEnd(at: 90_000), "the commands up to the last end are not processed yet")
        progress.advance(to: 10)
        #expect(!progress.mustRequestEnd(at: 50_499))
        #expect(progress.mustRequestEnd(at: 50_500))
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
