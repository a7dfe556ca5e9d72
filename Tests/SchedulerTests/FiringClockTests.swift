import Lifecycle
import Testing

@testable import Scheduler

/// A machine and a cluster with independent clocks.
private struct Clocks {
    var clock = FiringClock(holdMilliseconds: 30_000)
    var now = Instant(nanoseconds: 5_000_000_000_000)
    var cluster: Int64 = 1_800_000_000_000
    var machine: Int64 = 1_800_000_000_000

    var time: Int64? { clock.time(at: now) }

    mutating func pass(_ milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        cluster += Int64(milliseconds)
        machine += Int64(milliseconds)
        clock.tick(wall: machine, at: now)
    }

    mutating func hear(after milliseconds: Int = 0) {
        let stamp = cluster
        pass(milliseconds)
        clock.saw(stamp, wall: machine, at: now)
    }
}

@Suite struct FiringClockTests {
    @Test func `before the first stamp of the cluster the time is unknown`() {
        var clocks = Clocks()
        clocks.pass(1000)
        #expect(clocks.time == nil && clocks.clock.isStale(at: clocks.now))
        clocks.hear()
        #expect(clocks.time == clocks.cluster && !clocks.clock.isStale(at: clocks.now))
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

    @Test func `after a jump of this machine's clock in either direction no timer fires for a while`() {
        for step: Int64 in [-3_600_000, -5001, 5001, 3_600_000] {
            var clocks = Clocks()
            clocks.pass(0)
            clocks.hear()
            clocks.machine += step
            clocks.cluster += step
            clocks.pass(10)
            clocks.hear()
            #expect(clocks.time == nil && clocks.clock.isHeld(at: clocks.now), "\(step)")
            for _ in 0..<29 {
                clocks.pass(1000)
                clocks.hear()
            }
            #expect(clocks.time == nil)
            clocks.pass(1000)
            clocks.hear()
            #expect(clocks.time == clocks.cluster)
        }
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
        clocks.hear()
        clocks.cluster += 3_600_000
        clocks.hear()
        #expect(clocks.time == nil)
        for _ in 0..<29 {
            clocks.pass(1000)
            clocks.hear()
            #expect(clocks.time == nil)
        }
        clocks.pass(1000)
        clocks.hear()
        #expect(clocks.time == clocks.cluster)
    }

    @Test func `a stamp that no later stamp confirms is forgotten`() {
        var clocks = Clocks()
        clocks.hear()
        let usual = clocks.cluster
        clocks.clock.saw(usual + 3_600_000, wall: clocks.machine, at: clocks.now)
        #expect(clocks.time == nil)
        clocks.pass(29_999)
        #expect(clocks.time == nil)
        clocks.pass(1)
        #expect(clocks.time == clocks.cluster)
    }

    @Test func `old stamps after a downtime are followed without a pause`() {
        var clocks = Clocks()
        clocks.pass(0)
        clocks.clock.saw(clocks.cluster - 7_200_000, wall: clocks.machine, at: clocks.now)
        #expect(clocks.time == clocks.cluster - 7_200_000)
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
        clocks.clock.saw(-1, wall: clocks.machine, at: clocks.now)
        clocks.clock.saw(.max, wall: clocks.machine, at: clocks.now)
        #expect(clocks.time == nil && !clocks.clock.isHeld(at: clocks.now))
    }
}
