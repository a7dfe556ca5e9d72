import Lifecycle
import StageSupport
import Testing

/// Tests of `ClusterClock`, which notices by the timestamps of records (stamps) that the machine's clock differs from
/// the cluster's. The tests give it times by hand: `wall` is a time of day, and `steady` is the same moment on the
/// steady clock. Times are minutes after noon of the cluster. A young stamp is the stamp of a record whose age is
/// bounded (`writtenWithin`).
@Suite struct MachineAheadTests {
    private static let minute: Int64 = 60_000
    private static let day = 24 * 60

    /// Returns a time in milliseconds since 1970.
    private func wall(_ minutes: Int) -> Int64 { 1_790_000_000_000 + Int64(minutes) * Self.minute }

    /// Returns the steady time of a machine that has been up for a while. It contains no time of day.
    private func steady(_ minutes: Int) -> Instant {
        Instant(nanoseconds: 77_000_000_000).advanced(byMilliseconds: minutes * 60_000)
    }

    /// Returns a clock that observed the machine's time at noon.
    ///
    /// - Parameter minutesAhead: The minutes by which the machine's clock is ahead of the cluster's.
    private func clock(machineAhead minutesAhead: Int) -> ClusterClock {
        var clock = ClusterClock(now: steady(0))
        clock.observe(machineTime: wall(minutesAhead), at: steady(0))
        return clock
    }

    /// Observes the machine's time. Returns the lead of the machine's clock in minutes, as far as it is proven.
    private func lead(
        _ clock: inout ClusterClock, at minute: Int, machineAhead minutesAhead: Int
    ) -> Int64 {
        clock.observe(machineTime: wall(minute + minutesAhead), at: steady(minute))
        return clock.machineAheadMilliseconds / Self.minute
    }

    @Test func `without a stamp nothing is proven and the machine's clock counts`() {
        var clock = clock(machineAhead: 0)
        #expect(lead(&clock, at: 0, machineAhead: 0) == 0)
        #expect(clock.decisionTime(at: steady(0)) == wall(0))
        #expect(clock.earliestTime(at: steady(10)) == nil)
    }

    @Test(arguments: [-2, -5, -6, -60, -Self.day])
    func `a stamp ahead of the machine's clock proves that the clocks differ`(ahead: Int) {
        var clock = clock(machineAhead: ahead)
        clock.observe(stamp: wall(0), at: steady(0))
        #expect(lead(&clock, at: 0, machineAhead: ahead) == Int64(ahead))
        #expect(clock.decisionTime(at: steady(0)) == wall(ahead), "one stamp is not believed")
        #expect(!clock.isMachineConfirmed)
    }

    @Test(arguments: [6, 60, Self.day, 8 * Self.day])
    func `an old stamp proves nothing, a young one proves that the machine's clock is ahead`(ahead: Int) {
        var clock = clock(machineAhead: ahead)
        clock.observe(stamp: wall(0), at: steady(0))
        #expect(lead(&clock, at: 0, machineAhead: ahead) == 0)
        #expect(clock.decisionTime(at: steady(0)) == wall(0), "nothing ends before its time")
        #expect(clock.decisionTime(at: steady(5)) == wall(5))
        clock.observe(stamp: wall(1), writtenWithin: 100, at: steady(1))
        #expect(abs(lead(&clock, at: 1, machineAhead: ahead) - Int64(ahead)) <= 1)
    }

    @Test func `a young stamp bounds what has surely passed, also within the tolerance`() {
        var clock = clock(machineAhead: 3)
        clock.observe(stamp: wall(0), writtenWithin: 100, at: steady(0))
        clock.observe(machineTime: wall(5), at: steady(2))
        #expect(clock.earliestTime(at: steady(2)).map { $0 <= wall(2) + 100 } ?? false)
        #expect(clock.decisionTime(at: steady(2)).map { $0 <= wall(2) + 100 } ?? false)
    }

    @Test(arguments: [-Self.day, -5, 5, Self.day, 8 * Self.day])
    func `a step of the machine's clock shows at once, and so does its end`(ahead: Int) {
        var clock = clock(machineAhead: 0)
        clock.observe(stamp: wall(0), writtenWithin: 50, at: steady(0))
        #expect(lead(&clock, at: 1, machineAhead: 0) == 0)
        #expect(abs(lead(&clock, at: 1, machineAhead: ahead) - Int64(ahead)) <= 1)
        #expect(clock.decisionTime(at: steady(1)).map { abs($0 - wall(1)) <= 50 } ?? false)
        #expect(lead(&clock, at: 2, machineAhead: 0) == 0)
        #expect(clock.decisionTime(at: steady(2)) == wall(2))
    }

    @Test func `a machine's clock that is set to the cluster's time is believed at once`() {
        var clock = clock(machineAhead: -60)
        clock.observe(stamp: wall(0), at: steady(0))
        clock.observe(machineTime: wall(0), at: steady(0))
        #expect(clock.decisionTime(at: steady(0)) == wall(0) && clock.isMachineConfirmed)
    }

    @Test func `newer stamps prove that the machine's clock is behind, and the same record again does not`() {
        var clock = clock(machineAhead: -60)
        for minute in 0...3 {
            clock.observe(stamp: wall(0), at: steady(minute))
            clock.observe(machineTime: wall(minute - 60), at: steady(minute))
            #expect(clock.decisionTime(at: steady(minute)) == wall(minute - 60))
        }
        for minute in 4...5 { clock.observe(stamp: wall(minute), at: steady(minute)) }
        #expect(clock.decisionTime(at: steady(5)) == wall(5))
    }

    @Test func `a newer stamp corrects a stamp that only seemed young`() {
        var clock = clock(machineAhead: 0)
        // For ten minutes nothing was fetched, and no check noticed it.
        clock.observe(stamp: wall(0), writtenWithin: 50, at: steady(10))
        // The lead is ten minutes less 50 ms.
        #expect(lead(&clock, at: 10, machineAhead: 0) == 9)
        clock.observe(stamp: wall(9), at: steady(10))
        #expect(lead(&clock, at: 10, machineAhead: 0) == 0)
    }

    @Test(arguments: [8, 49, 96])
    func `a stamp that is hours in the future ends nothing, as the first one or later`(hours: Int) {
        for isFirst in [true, false] {
            var clock = clock(machineAhead: 0)
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
        var clock = clock(machineAhead: 0)
        for stamp in [Int64.min, -1, .max] {
            clock.observe(stamp: stamp, at: steady(0))
            clock.observe(stamp: stamp, writtenWithin: 1, at: steady(0))
        }
        #expect(lead(&clock, at: 0, machineAhead: 0) == 0)
    }
}
