import Lifecycle
import StageSupport
import Testing

/// The machine's clock against the stamps of records, without a real clock or broker. Times are minutes after noon.
@Suite struct MachineAheadTests {
    private static let minute: Int64 = 60_000
    private static let day = 24 * 60

    private func wall(_ minutes: Int) -> Int64 { 1_790_000_000_000 + Int64(minutes) * Self.minute }
    /// The steady time of a machine that has been up for a while. It contains no time of day.
    private func steady(_ minutes: Int) -> Instant {
        Instant(nanoseconds: 77_000_000_000).advanced(byMilliseconds: minutes * 60_000)
    }

    /// Returns a clock that looked at the machine at noon.
    private func clock(ours ahead: Int) -> ClusterClock {
        var clock = ClusterClock(now: steady(0))
        clock.observe(machineTime: wall(ahead), at: steady(0))
        return clock
    }

    /// Returns the lead of the machine's clock in minutes, at a minute of the cluster's clock.
    private func lead(_ clock: inout ClusterClock, at minute: Int, ours ahead: Int) -> Int64 {
        clock.observe(machineTime: wall(minute + ahead), at: steady(minute))
        return clock.machineAheadMilliseconds / Self.minute
    }

    @Test func `without a stamp nothing is proven and the machine's clock counts`() {
        var clock = clock(ours: 0)
        #expect(lead(&clock, at: 0, ours: 0) == 0)
        #expect(clock.decisionTime(at: steady(0)) == wall(0))
        #expect(clock.earliestTime(at: steady(10)) == nil)
    }

    @Test(arguments: [-2, -5, -6, -60, -Self.day])
    func `a stamp ahead of the machine's clock proves that the clocks differ`(ahead: Int) {
        var clock = clock(ours: ahead)
        clock.observe(stamp: wall(0), at: steady(0))
        #expect(lead(&clock, at: 0, ours: ahead) == Int64(ahead))
        #expect(clock.decisionTime(at: steady(0)) == wall(ahead), "one stamp is not believed")
        #expect(!clock.isMachineConfirmed)
    }

    @Test(arguments: [6, 60, Self.day, 8 * Self.day])
    func `an old stamp proves nothing, a young one proves that the machine's clock is ahead`(ahead: Int) {
        var clock = clock(ours: ahead)
        clock.observe(stamp: wall(0), at: steady(0))
        #expect(lead(&clock, at: 0, ours: ahead) == 0)
        #expect(clock.decisionTime(at: steady(0)) == wall(0), "nothing ends before its time")
        #expect(clock.decisionTime(at: steady(5)) == wall(5))
        clock.observe(stamp: wall(1), writtenWithin: 100, at: steady(1))
        #expect(abs(lead(&clock, at: 1, ours: ahead) - Int64(ahead)) <= 1)
    }

    @Test func `a young stamp bounds what has surely passed, also within the tolerance`() {
        var clock = clock(ours: 3)
        clock.observe(stamp: wall(0), writtenWithin: 100, at: steady(0))
        clock.observe(machineTime: wall(5), at: steady(2))
        #expect(clock.earliestTime(at: steady(2)).map { $0 <= wall(2) + 100 } ?? false)
        #expect(clock.decisionTime(at: steady(2)).map { $0 <= wall(2) + 100 } ?? false)
    }

    @Test(arguments: [-Self.day, -5, 5, Self.day, 8 * Self.day])
    func `a step of the machine's clock shows at once, and so does its end`(ahead: Int) {
        var clock = clock(ours: 0)
        clock.observe(stamp: wall(0), writtenWithin: 50, at: steady(0))
        #expect(lead(&clock, at: 1, ours: 0) == 0)
        #expect(abs(lead(&clock, at: 1, ours: ahead) - Int64(ahead)) <= 1)
        #expect(clock.decisionTime(at: steady(1)).map { abs($0 - wall(1)) <= 50 } ?? false)
        #expect(lead(&clock, at: 2, ours: 0) == 0)
        #expect(clock.decisionTime(at: steady(2)) == wall(2))
    }

    @Test func `a machine's clock that is set to the cluster's time is believed at once`() {
        var clock = clock(ours: -60)
        clock.observe(stamp: wall(0), at: steady(0))
        clock.observe(machineTime: wall(0), at: steady(0))
        #expect(clock.decisionTime(at: steady(0)) == wall(0) && clock.isMachineConfirmed)
    }

    @Test func `newer stamps prove that the machine's clock is behind, and the same record again does not`() {
        var clock = clock(ours: -60)
        for minute in 0...3 {
            clock.observe(stamp: wall(0), at: steady(minute))
            clock.observe(machineTime: wall(minute - 60), at: steady(minute))
            #expect(clock.decisionTime(at: steady(minute)) == wall(minute - 60))
        }
        for minute in 4...5 { clock.observe(stamp: wall(minute), at: steady(minute)) }
        #expect(clock.decisionTime(at: steady(5)) == wall(5))
    }

    @Test func `a young report corrects a stamp that only seemed young`() {
        var clock = clock(ours: 0)
        // For ten minutes nothing was fetched, and no check noticed it.
        clock.observe(stamp: wall(0), writtenWithin: 50, at: steady(10))
        #expect(lead(&clock, at: 10, ours: 0) == 9)
        clock.observe(stamp: wall(9), at: steady(10))
        #expect(lead(&clock, at: 10, ours: 0) == 0)
    }

    @Test(arguments: [8, 49, 96])
    func `a stamp that is hours in the future ends nothing, as the first one or later`(hours: Int) {
        for isFirst in [true, false] {
            var clock = clock(ours: 0)
            if !isFirst { clock.observe(stamp: wall(0), at: steady(0)) }
            for minute in 0...10 {
                clock.observe(machineTime: wall(minute), at: steady(minute))
                clock.observe(stamp: wall(60 * hours), at: steady(minute))
                #expect(clock.decisionTime(at: steady(minute)) == wall(minute))
                #expect(clock.earliestTime(at: steady(minute)).map { $0 <= wall(minute) } ?? true)
            }
            clock.observe(stamp: wall(10), at: steady(10))
            #expect(clock.decisionTime(at: steady(10)) == wall(10) && clock.isMachineConfirmed)
        }
    }

    @Test func `stamps that no clock can show are ignored`() {
        var clock = clock(ours: 0)
        for stamp in [Int64.min, -1, .max] {
            clock.observe(stamp: stamp, at: steady(0))
            clock.observe(stamp: stamp, writtenWithin: 1, at: steady(0))
        }
        #expect(lead(&clock, at: 0, ours: 0) == 0)
    }
}
