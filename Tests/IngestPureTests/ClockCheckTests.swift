import Lifecycle
import Testing

@testable import Ingest

/// The local clock against record stamps, without a real clock or broker. Times are minutes after noon.
@Suite struct ClockCheckTests {
    private static let minute: Int64 = 60_000
    private static let noon: Int64 = 1_790_000_000_000
    private static let day = 24 * 60

    private func wall(_ minutes: Int) -> Int64 { Self.noon + Int64(minutes) * Self.minute }
    /// The steady time of a machine that has been up for a while. It contains no time of day.
    private func steady(_ minutes: Int) -> Instant {
        Instant(nanoseconds: 77_000_000_000).advanced(byMilliseconds: minutes * 60_000)
    }

    /// Returns the verdict at a minute of the cluster's clock, with the local clock `ahead` minutes ahead of
    /// it.
    private func verdict(_ check: inout ClockCheck, at minute: Int, ours ahead: Int) -> ClockCheck.Verdict {
        check.judge(wall(minute + ahead), at: steady(minute))
    }

    @Test func `without a stamp the verdict is unproven and the local clock counts`() {
        var check = ClockCheck()
        #expect(verdict(&check, at: 0, ours: 0) == .unproven)
        #expect(check.time(wall(0), at: steady(0)) == wall(0))
    }

    @Test(arguments: [0, 1, -1])
    func `a stamp within about a minute agrees`(ahead: Int) {
        var check = ClockCheck()
        check.saw(wall(0), in: 0, age: nil, at: steady(0))
        #expect(verdict(&check, at: 0, ours: ahead) == .agrees)
        #expect(
            verdict(&check, at: 600, ours: ahead) == .agrees, "ten hours without a report prove nothing else")
    }

    @Test(arguments: [-2, -5, -6, -60, -Self.day])
    func `a stamp ahead of the local clock proves that the local clock is behind`(ahead: Int) {
        var check = ClockCheck()
        check.saw(wall(0), in: 3, age: nil, at: steady(0))
        let wanted = ClockCheck.Verdict.wrong(.ours, aheadMilliseconds: Int64(ahead) * Self.minute)
        #expect(verdict(&check, at: 0, ours: ahead) == wanted)
        #expect(wanted.description.contains("behind"))
    }

    @Test(arguments: [2, 60, Self.day, 8 * Self.day])
    func `an old stamp proves nothing, a fresh one proves that the local clock is ahead`(ahead: Int) {
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
    func `a step of the local clock shows at once, and so does its end`(ahead: Int) {
        var check = ClockCheck()
        check.saw(wall(0), in: 0, age: 50, at: steady(0))
        #expect(verdict(&check, at: 1, ours: 0) == .agrees)
        #expect(verdict(&check, at: 1, ours: ahead).isWrong)
        #expect(verdict(&check, at: 2, ours: 0) == .agrees)
    }

    @Test func `a broker with a wrong clock is named if another broker agrees with the local clock`() {
        var check = ClockCheck()
        check.saw(wall(0), in: 0, age: 50, at: steady(0))
        check.saw(wall(10), in: 5, age: 50, at: steady(0))
        let wanted = ClockCheck.Verdict.wrong(.broker(of: 5), aheadMilliseconds: -10 * Self.minute)
        #expect(verdict(&check, at: 0, ours: 0) == wanted)
        check.keep([0])
        #expect(verdict(&check, at: 0, ours: 0) == .agrees)
    }

    @Test func `a doubt is checked again after a while, because a broker's clock may have been corrected`() {
        var check = ClockCheck()
        check.saw(wall(30), in: 0, age: 50, at: steady(0))
        #expect(verdict(&check, at: 0, ours: 0).isWrong)
        #expect(verdict(&check, at: 9, ours: 0).isWrong)
        #expect(verdict(&check, at: 10, ours: 0) == .unproven)
        check.saw(wall(10), in: 0, age: 50, at: steady(10))
        #expect(verdict(&check, at: 10, ours: 0) == .agrees)
    }

    @Test func `a young report corrects a stamp that only seemed fresh`() {
        var check = ClockCheck()
        // For ten minutes nothing was fetched, and no check noticed it.
        check.saw(wall(0), in: 0, age: 50, at: steady(10))
        #expect(verdict(&check, at: 10, ours: 0).isWrong)
        check.reaches(wall(9), in: 0, at: steady(10))
        #expect(verdict(&check, at: 10, ours: 0) == .agrees)
    }

    @Test func `stamps that no clock can show are ignored`() {
        var check = ClockCheck()
        for stamp in [Int64.min, -1, .max] { check.saw(stamp, in: 0, age: nil, at: steady(0)) }
        #expect(verdict(&check, at: 0, ours: 0) == .unproven)
    }
}
