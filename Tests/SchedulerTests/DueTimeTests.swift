import Lifecycle
import StageSupport
import Testing

/// A machine and a cluster with independent clocks, and the time by which timers are due.
private struct Clocks {
    static let start = Instant(nanoseconds: 5_000_000_000_000)

    var clock = ClusterClock(now: start, confirmationMilliseconds: 30_000)
    var now = start
    /// The two clocks, in milliseconds since 1970.
    var clusterTime: Int64 = 1_800_000_000_000
    var machineTime: Int64 = 1_800_000_000_000

    /// The time by which timers are due.
    var dueTime: Int64? { clock.dueTime(at: now) }

    mutating func pass(_ milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        clusterTime += Int64(milliseconds)
        machineTime += Int64(milliseconds)
        clock.observe(machineTime: machineTime, at: now)
    }

    /// Reads a record that is stamped now, after a delay.
    mutating func readRecord(after milliseconds: Int = 0) {
        let stamp = clusterTime
        pass(milliseconds)
        clock.observe(stamp: stamp, at: now)
    }
}

/// Tests of the time by which timers are due (`ClusterClock`). It follows the cluster's timestamps, is never ahead of
/// them, and a jump of a clock is believed only after it has lasted for 30 s, so that no timer fires early.
@Suite struct DueTimeTests {
    private static let hour: Int64 = 3_600_000

    @Test func `before the first stamp of the cluster the time is unknown`() {
        var clocks = Clocks()
        clocks.pass(1000)
        #expect(clocks.dueTime == nil)
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime)
    }

    @Test func `the time is the cluster's and never ahead of it, with any offset of this machine's clock`() {
        for machineLead: Int64 in [3_600_000, 4000, 0, -4000] {
            var clocks = Clocks()
            clocks.machineTime = clocks.clusterTime + machineLead
            // When a record is read, its stamp is as old as the delay of the record. The record with the shortest delay
            // counts.
            clocks.readRecord(after: 700)
            #expect(clocks.dueTime == clocks.clusterTime - 700)
            clocks.readRecord(after: 3)
            #expect(clocks.dueTime == clocks.clusterTime - 3)
            clocks.readRecord(after: 500)
            #expect(clocks.dueTime == clocks.clusterTime - 3)
            clocks.pass(1000)
            #expect(clocks.dueTime == clocks.clusterTime - 3)
        }
    }

    @Test(arguments: [-3_600_000, -5001, 5001, 3_600_000] as [Int64])
    func `after a jump of both clocks no timer fires early, and the new time counts when it has lasted`(
        step: Int64
    ) {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.readRecord()
        // Until the jump has lasted, timers are due by the earlier of two times: the time without the jump, and the
        // cluster's.
        var timeWithoutJump = clocks.clusterTime
        clocks.machineTime += step
        clocks.clusterTime += step
        clocks.pass(10)
        clocks.readRecord()
        timeWithoutJump += 10
        #expect(clocks.dueTime == min(timeWithoutJump, clocks.clusterTime) && clocks.clock.isDoubtful)
        for _ in 0..<29 {
            clocks.pass(1000)
            clocks.readRecord()
            timeWithoutJump += 1000
            #expect(clocks.dueTime == min(timeWithoutJump, clocks.clusterTime) && clocks.clock.isDoubtful)
        }
        clocks.pass(1000)
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime)
    }

    @Test func `a small correction delays no timer`() {
        for step: Int64 in [-5000, 5000] {
            var clocks = Clocks()
            clocks.pass(0)
            clocks.readRecord()
            clocks.machineTime += step
            clocks.pass(10)
            #expect(clocks.dueTime == clocks.clusterTime)
        }
    }

    @Test func `a jump of the cluster's clock alone is believed after it has lasted`() {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.readRecord()
        clocks.clusterTime += Self.hour
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime - Self.hour)
        for _ in 0..<29 {
            clocks.pass(1000)
            clocks.readRecord()
            #expect(clocks.dueTime == clocks.clusterTime - Self.hour && clocks.clock.isDoubtful)
        }
        clocks.pass(1000)
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime && !clocks.clock.isDoubtful)
    }

    @Test(arguments: [8, 49, 96] as [Int64])
    func `a record whose stamp is hours in the future fires nothing early, as the first one or later`(
        hours: Int64
    ) {
        for isFirst in [false, true] {
            var clocks = Clocks()
            clocks.pass(0)
            if !isFirst { clocks.readRecord() }
            let stamp = clocks.clusterTime + hours * Self.hour
            // The record is read again and again, and its stamp does not move.
            for _ in 0..<100 {
                clocks.clock.observe(stamp: stamp, at: clocks.now)
                #expect(clocks.dueTime.map { $0 <= clocks.clusterTime } ?? true)
                #expect(clocks.clock.earliestTime(at: clocks.now).map { $0 <= clocks.clusterTime } ?? true)
                clocks.pass(5000)
            }
            clocks.readRecord()
            #expect(clocks.dueTime == clocks.clusterTime && !clocks.clock.isDoubtful)
        }
    }

    @Test func `a machine whose clock is behind from the start delays timers until the cluster's is proven`()
    {
        var clocks = Clocks()
        clocks.machineTime -= Self.hour
        clocks.pass(0)
        for _ in 0..<30 {
            clocks.readRecord()
            #expect(clocks.dueTime == clocks.machineTime && clocks.clock.isDoubtful)
            clocks.pass(1000)
        }
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime && !clocks.clock.isDoubtful)
    }

    @Test func `a stamp that no later stamp confirms changes no time`() {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.readRecord()
        clocks.clock.observe(stamp: clocks.clusterTime + Self.hour, at: clocks.now)
        #expect(clocks.dueTime == clocks.clusterTime && clocks.clock.isDoubtful)
        clocks.pass(30_000)
        #expect(clocks.dueTime == clocks.clusterTime)
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime && !clocks.clock.isDoubtful)
    }

    @Test func `old stamps after a downtime are followed without a pause`() {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.clock.observe(stamp: clocks.clusterTime - 2 * Self.hour, at: clocks.now)
        #expect(clocks.dueTime == clocks.clusterTime - 2 * Self.hour)
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime)
    }

    @Test func `newer stamps correct a steady clock that runs fast`() {
        var clocks = Clocks()
        clocks.readRecord()
        // A second on the steady clock is 999 ms on the cluster's clock.
        for _ in 0..<130 {
            clocks.pass(1000)
            clocks.clusterTime -= 1
            clocks.readRecord()
        }
        // The time comes from the highest stamp of at most the last two minutes (`StampWindows`), so it is at most
        // 120 ms ahead. After a pause that is longer, only the new stamp counts.
        #expect(clocks.dueTime.map { $0 - clocks.clusterTime <= 120 } ?? false)
        clocks.pass(200_000)
        clocks.readRecord()
        #expect(clocks.dueTime == clocks.clusterTime)
    }

    @Test func `an invalid stamp is ignored`() {
        var clocks = Clocks()
        clocks.clock.observe(stamp: -1, at: clocks.now)
        clocks.clock.observe(stamp: .max, at: clocks.now)
        #expect(clocks.dueTime == nil && !clocks.clock.isDoubtful)
    }
}
