import Lifecycle
import Simulation
import Testing

@testable import Sender

private let dayMilliseconds = 86_400_000

/// A cluster whose timestamps are right, and a sender whose machine changes its clock at random.
private struct ClockWorld {
    /// The largest delay from the timestamp of a stored record to its acknowledgement.
    static let acknowledgementMilliseconds = 40

    var random: SeededGenerator
    var clock: SenderClock
    /// The cluster's time, in milliseconds since 1970.
    var clusterTime: Int64 = 1_763_600_000_000
    /// The error of the machine's clock.
    var errorMilliseconds: Int64 = 0
    /// The steady clock.
    var now = Instant(nanoseconds: 5_000_000_000)
    /// Whether a record of the sender was acknowledged.
    var hasStored = false
    /// The timestamp of the newest record that was read.
    var newestRead: Int64 = 0

    init(seed: Int) {
        random = SeededGenerator(seed: seed)
        clock = SenderClock(now: now)
    }

    var machineTime: Int64 { clusterTime + errorMilliseconds }
    var time: Int64 { clock.time(by: machineTime, at: now) }
    var passed: Int64 { clock.passed(by: machineTime, at: now) }

    /// Lets time pass, and then sets the machine's clock, reads a record, or stores one.
    mutating func step(mayStore: Bool) {
        let isLong = random.number(below: 8) == 0
        let milliseconds = random.number(below: isLong ? 200_000 : 2_000)
        now = now.advanced(byMilliseconds: milliseconds)
        clusterTime += Int64(milliseconds)
        switch random.number(below: mayStore ? 6 : 4) {
        case 0:
            errorMilliseconds = Int64(random.number(below: 4 * dayMilliseconds) - 2 * dayMilliseconds)
        case 1: errorMilliseconds = 0
        case 2, 3:
            let isYoung = random.number(below: 2) == 0
            let age = Int64(random.number(below: isYoung ? 50 : 3 * dayMilliseconds))
            newestRead = max(newestRead, clusterTime - age)
            clock.read(clusterTime - age, at: now)
        default:
            hasStored = true
            let delay = Int64(random.number(below: Self.acknowledgementMilliseconds))
            clock.stored(clusterTime - delay, at: now)
        }
    }
}

/// Tests of the sender's clock. It knows the cluster's time by the records that it reads and stores, although the
/// machine's clock may be wrong by days.
@Suite struct SenderClockTests {
    @Test func `a wrong machine clock never makes a future time count as past`() {
        for seed in 0..<trialCount(base: 500) {
            var world = ClockWorld(seed: seed)
            for _ in 0..<60 {
                world.step(mayStore: false)
                #expect(world.passed <= world.clusterTime, "seed \(seed)")
                #expect(world.time >= world.newestRead, "seed \(seed)")
            }
        }
    }

    @Test func `stored records tell the time, up to the delay of the acknowledgement`() {
        for seed in 0..<trialCount(base: 500) {
            var world = ClockWorld(seed: seed)
            for _ in 0..<100 {
                world.step(mayStore: true)
                guard world.hasStored else { continue }
                #expect(world.passed == world.time, "seed \(seed)")
                let earliest = world.clusterTime - Int64(ClockWorld.acknowledgementMilliseconds)
                #expect((earliest...world.clusterTime).contains(world.time), "seed \(seed)")
            }
        }
    }

    @Test func `if nothing was read, nothing has passed and the machine gives the date`() {
        var clock = SenderClock(now: Instant(nanoseconds: 0))
        let now = Instant(nanoseconds: 1_000_000_000)
        let machineTime: Int64 = 1_763_600_000_000
        #expect(clock.passed(by: machineTime, at: now) <= 1_000)
        #expect(clock.time(by: machineTime, at: now) == machineTime)
        // Impossible timestamps do not count.
        clock.read(-1, at: now)
        clock.read(.max, at: now)
        clock.stored(.max, at: now)
        #expect(clock.time(by: machineTime, at: now) == machineTime)
    }
}
