import Lifecycle
import StageSupport
import Testing

/// A machine and a cluster with independent clocks, and the time by which timers are due.
private struct Clocks {
    static let start = Instant(nanoseconds: 5_000_000_000_000)

    var clock = ClusterClock(now: start, confirmationMilliseconds: 30_000)
    var now = start
    var cluster: Int64 = 1_800_000_000_000
    var machine: Int64 = 1_800_000_000_000

    var time: Int64? { clock.dueTime(at: now) }

    mutating func pass(_ milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        cluster += Int64(milliseconds)
        machine += Int64(milliseconds)
        clock.observe(machineTime: machine, at: now)
    }

    mutating func hear(after milliseconds: Int = 0) {
        let stamp = cluster
        pass(milliseconds)
        clock.observe(stamp: stamp, at: now)
    }
}

@Suite struct DueTimeTests {
    private static let hour: Int64 = 3_600_000

    @Test func `before the first stamp of the cluster the time is unknown`() {
        var clocks = Clocks()
        clocks.pass(1000)
        #expect(clocks.time == nil)
        clocks.hear()
        #expect(clocks.time == clocks.cluster)
    }

    @Test func `the time is the cluster's and never ahead of it, with any offset of this machine's clock`() {
        for skew: Int64 in [-3_600_000, -4000, 0, 4000] {
            var clocks = Clocks()
            clocks.machine = clocks.cluster - skew
            clocks.hear(after: 700)
            #expect(clocks.time == clocks.cluster - 700)
            clocks.hear(after: 3)
            #expect(clocks.time == clocks.cluster - 3)
            clocks.hear(after: 500)
            #expect(clocks.time == clocks.cluster - 3)
            clocks.pass(1000)
            #expect(clocks.time == clocks.cluster - 3)
        }
    }

    @Test(arguments: [-3_600_000, -5001, 5001, 3_600_000] as [Int64])
    func `after a jump of both clocks no timer fires early, and the new time counts when it has lasted`(
        step: Int64
    ) {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.hear()
        var usual = clocks.cluster
        clocks.machine += step
        clocks.cluster += step
        clocks.pass(10)
        clocks.hear()
        usual += 10
        #expect(clocks.time == min(usual, clocks.cluster) && clocks.clock.isDoubtful)
        for _ in 0..<29 {
            clocks.pass(1000)
            clocks.hear()
            usual += 1000
            #expect(clocks.time == min(usual, clocks.cluster) && clocks.clock.isDoubtful)
        }
        clocks.pass(1000)
        clocks.hear()
        #expect(clocks.time == clocks.cluster)
    }

    @Test func `a small correction delays no timer`() {
        for step: Int64 in [-5000, 5000] {
            var clocks = Clocks()
            clocks.pass(0)
            clocks.hear()
            clocks.machine += step
            clocks.pass(10)
            #expect(clocks.time == clocks.cluster)
        }
    }

    @Test func `a jump of the cluster's clock alone is believed after it has lasted`() {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.hear()
        clocks.cluster += Self.hour
        clocks.hear()
        #expect(clocks.time == clocks.cluster - Self.hour)
        for _ in 0..<29 {
            clocks.pass(1000)
            clocks.hear()
            #expect(clocks.time == clocks.cluster - Self.hour && clocks.clock.isDoubtful)
        }
        clocks.pass(1000)
        clocks.hear()
        #expect(clocks.time == clocks.cluster && !clocks.clock.isDoubtful)
    }

    @Test(arguments: [8, 49, 96] as [Int64])
    func `a record whose stamp is hours in the future fires nothing early, known before or not`(hours: Int64)
    {
        for isKnown in [true, false] {
            var clocks = Clocks()
            clocks.pass(0)
            if isKnown { clocks.hear() }
            let stamp = clocks.cluster + hours * Self.hour
            // The record is read again and again, and its stamp does not move.
            for _ in 0..<100 {
                clocks.clock.observe(stamp: stamp, at: clocks.now)
                #expect(clocks.time.map { $0 <= clocks.cluster } ?? true)
                #expect(clocks.clock.earliestTime(at: clocks.now).map { $0 <= clocks.cluster } ?? true)
                clocks.pass(5000)
            }
            clocks.hear()
            #expect(clocks.time == clocks.cluster && !clocks.clock.isDoubtful)
        }
    }

    @Test func `a machine whose clock is behind from the start delays timers until the cluster's is proven`()
    {
        var clocks = Clocks()
        clocks.machine -= Self.hour
        clocks.pass(0)
        for _ in 0..<30 {
            clocks.hear()
            #expect(clocks.time == clocks.machine && clocks.clock.isDoubtful)
            clocks.pass(1000)
        }
        clocks.hear()
        #expect(clocks.time == clocks.cluster && !clocks.clock.isDoubtful)
    }

    @Test func `a stamp that no later stamp confirms changes no time`() {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.hear()
        clocks.clock.observe(stamp: clocks.cluster + Self.hour, at: clocks.now)
        #expect(clocks.time == clocks.cluster && clocks.clock.isDoubtful)
        clocks.pass(30_000)
        #expect(clocks.time == clocks.cluster)
        clocks.hear()
        #expect(clocks.time == clocks.cluster && !clocks.clock.isDoubtful)
    }

    @Test func `old stamps after a downtime are followed without a pause`() {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.clock.observe(stamp: clocks.cluster - 2 * Self.hour, at: clocks.now)
        #expect(clocks.time == clocks.cluster - 2 * Self.hour)
        clocks.hear()
        #expect(clocks.time == clocks.cluster)
    }

    @Test func `newer stamps correct a steady clock that runs fast`() {
        var clocks = Clocks()
        clocks.hear()
        // Two minutes on the steady clock are slightly less on the cluster's clock.
        for _ in 0..<130 {
            clocks.pass(1000)
            clocks.cluster -= 1
            clocks.hear()
        }
        #expect(clocks.time.map { $0 - clocks.cluster <= 120 } ?? false)
        clocks.pass(200_000)
        clocks.hear()
        #expect(clocks.time == clocks.cluster)
    }

    @Test func `an invalid stamp is ignored`() {
        var clocks = Clocks()
        clocks.clock.observe(stamp: -1, at: clocks.now)
        clocks.clock.observe(stamp: .max, at: clocks.now)
        #expect(clocks.time == nil && !clocks.clock.isDoubtful)
    }
}
