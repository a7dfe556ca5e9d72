import Lifecycle
import Testing

@testable import Ingest

/// Our clock against stamps, without any of the two: times are minutes after noon.
@Suite struct ClockCheckTests {
    private static let minute: Int64 = 60_000
    private static let noon: Int64 = 1_790_000_000_000
    private static let day = 24 * 60

    private func wall(_ minutes: Int) -> Int64 { Self.noon + Int64(minutes) * Self.minute }
    /// A machine that has been up for a while; it knows nothing of the time of day.
    private func steady(_ minutes: Int) -> Instant {
        Instant(nanoseconds: 77_000_000_000).advanced(byMilliseconds: minutes * 60_000)
    }

    /// What is said at a minute of the cluster's clock, where ours shows so many minutes more.
    private func verdict(_ check: inout ClockCheck, at minute: Int, ours ahead: Int) -> ClockCheck.Verdict {
        check.judge(wall(minute + ahead), at: steady(minute))
    }

    @Test func `without a stamp nothing is known, and our clock is what there is`() {
        var check = ClockCheck()
        #expect(verdict(&check, at: 0, ours: 0) == .unproven)
        #expect(check.time(wall(0), at: steady(0)) == wall(0))
    }

    @Test(arguments: [0, 1, -1])
    func `a stamp that is hardly a minute away agrees`(ahead: Int) {
        var check = ClockCheck()
        check.saw(wall(0), in: 0, age: nil, at: steady(0))
        #expect(verdict(&check, at: 0, ours: ahead) == .agrees)
        #expect(
            verdict(&check, at: 600, ours: ahead) == .agrees, "ten hours without a report prove nothing else")
    }

    @Test(arguments: [-2, -5, -6, -60, -Self.day])
    func `a stamp that lies ahead of our clock proves that ours is behind`(ahead: Int) {
        var check = ClockCheck()
        check.saw(wall(0), in: 3, age: nil, at: steady(0))
        let wanted = ClockCheck.Verdict.wrong(.ours, aheadMilliseconds: Int64(ahead) * Self.minute)
        #expect(verdict(&check, at: 0, ours: ahead) == wanted)
        #expect(wanted.description.contains("behind"))
    }

    @Test(arguments: [2, 60, Self.day, 8 * Self.day])
    func `an old stamp proves nothing, a fresh one proves that our clock is ahead`(ahead: Int) {
        var check = ClockCheck()
        check.saw(wall(0), in: 0, age: nil, at: steady(0))
        #expect(verdict(&check, at: 0, ours: ahead) == .unproven)
        #expect(check.time(wall(ahead), at: steady(0)) == wall(0), "nothing ends before its time")
        #expect(check.time(wall(ahead + 5), at: steady(5)) == wall(5))
        check.saw(wall(1), in: 0, age: 100, at: steady(1))
        guard case .wrong(.ours, let found) = verdict(&check, at: 1, ours: ahead) else {
            Issue.record("not found")
            return
        }
        #expect(abs(found - Int64(ahead) * Self.minute) <= 100)
    }

    @Test(arguments: [-Self.day, -5, 5, Self.day, 8 * Self.day])
    func `a step of our clock shows at once, and so does its end`(ahead: Int) {
        var check = ClockCheck()
        check.saw(wall(0), in: 0, age: 50, at: steady(0))
        #expect(verdict(&check, at: 1, ours: 0) == .agrees)
        #expect(verdict(&check, at: 1, ours: ahead).isWrong)
        #expect(verdict(&check, at: 2, ours: 0) == .agrees)
    }

    @Test func `the broker whose clock is wrong is named where another agrees with ours`() {
        var check = ClockCheck()
        check.saw(wall(0), in: 0, age: 50, at: steady(0))
        check.saw(wall(10), in: 5, age: 50, at: steady(0))
        let wanted = ClockCheck.Verdict.wrong(.broker(of: 5), aheadMilliseconds: -10 * Self.minute)
        #expect(verdict(&check, at: 0, ours: 0) == wanted)
        check.keep([0])
        #expect(verdict(&check, at: 0, ours: 0) == .agrees)
    }

    @Test func `a doubt is looked at again after a while, for the clock that was set may be a broker's`() {
        var check = ClockCheck()
        check.saw(wall(30), in: 0, age: 50, at: steady(0))
        #expect(verdict(&check, at: 0, ours: 0).isWrong)
        #expect(verdict(&check, at: 9, ours: 0).isWrong)
        #expect(verdict(&check, at: 10, ours: 0) == .unproven)
        check.saw(wall(10), in: 0, age: 50, at: steady(10))
        #expect(verdict(&check, at: 10, ours: 0) == .agrees)
    }

    @Test func `what looked fresh and was not is put right by a report that is young`() {
        var check = ClockCheck()
        // Nothing could be fetched for ten minutes, and nobody noticed.
        check.saw(wall(0), in: 0, age: 50, at: steady(10))
        #expect(verdict(&check, at: 10, ours: 0).isWrong)
        check.reaches(wall(9), in: 0, at: steady(10))
        #expect(verdict(&check, at: 10, ours: 0) == .agrees)
    }

    @Test func `what no clock shows is not counted with`() {
        var check = ClockCheck()
        for stamp in [Int64.min, -1, .max] { check.saw(stamp, in: 0, age: nil, at: steady(0)) }
        #expect(verdict(&check, at: 0, ours: 0) == .unproven)
    }
}
