import Lifecycle
import Simulation
import Testing

@testable import Sender

/// A cluster whose stamps are right, and a sender whose machine changes its clock at random.
private struct ClockWorld {
    var random: SeededGenerator
    var clock: SenderClock
    /// Milliseconds since 1970.
    var right: Int64 = 1_763_600_000_000
    var wrong: Int64 = 0
    var now = Instant(nanoseconds: 5_000_000_000)
    var hasStored = false
    /// Stamp of the newest record that was read.
    var newestRead: Int64 = 0

    init(seed: Int) {
        random = SeededGenerator(seed: seed)
        clock = SenderClock(now: now)
    }

    var machine: Int64 { right + wrong }
    var time: Int64 { clock.time(by: machine, at: now) }
    var passed: Int64 { clock.passed(by: machine, at: now) }

    mutating func step(mayStore: Bool) {
        let wait = random.number(below: random.number(below: 8) == 0 ? 200_000 : 2_000)
        now = now.advanced(byMilliseconds: wait)
        right += Int64(wait)
        switch random.number(below: mayStore ? 6 : 4) {
        case 0: wrong = Int64(random.number(below: 4 * 86_400_000)) - 2 * 86_400_000
        case 1: wrong = 0
        case 2, 3:
            let stamp =
                right - Int64(random.number(below: random.number(below: 2) == 0 ? 50 : 3 * 86_400_000))
            newestRead = max(newestRead, stamp)
            clock.read(stamp, at: now)
        default:
            hasStored = true
            clock.stored(right - Int64(random.number(below: 40)), at: now)
        }
    }
}

@Suite struct SenderClockTests {
    @Test func `a wrong machine clock never makes a future time count as past`() {
        for seed in 0..<trialCount(base: 500) {
            var world = ClockWorld(seed: seed)
            for _ in 0..<60 {
                world.step(mayStore: false)
                #expect(world.passed <= world.right, "seed \(seed)")
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
                #expect((world.right - 40...world.right).contains(world.time), "seed \(seed)")
            }
        }
    }

    @Test func `if nothing was read, nothing has passed and the machine gives the date`() {
        var clock = SenderClock(now: Instant(nanoseconds: 0))
        let now = Instant(nanoseconds: 1_000_000_000)
        #expect(clock.passed(by: 1_763_600_000_000, at: now) <= 1_000)
        #expect(clock.time(by: 1_763_600_000_000, at: now) == 1_763_600_000_000)
        clock.read(-1, at: now)
        clock.read(.max, at: now)
        clock.stored(.max, at: now)
        #expect(clock.time(by: 1_763_600_000_000, at: now) == 1_763_600_000_000)
    }
}
