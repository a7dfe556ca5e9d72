import Simulation
import Testing

@testable import Scheduler

/// Tests of the scheduler's decisions in random histories (`SchedulerWorld`), with two processes that die and
/// transactions that fail. The world knows all accepted commands, and checks each committed record. `deploy/prove
/// scheduler-histories` runs a million steps.
@Suite struct SchedulerModelTests {
    private static let stepsPerHistory = 2000

    @Test func `each timer fires once, or never after a cancel in time`() {
        var seeds = SystemRandomNumberGenerator()
        // A random start, so that each run tries other histories. It is shifted, so that the range cannot overflow.
        let firstSeed = seeds.next() >> 16
        var (fired, cancelled, expired, tooLate) = (0, 0, 0, 0)
        for seed in firstSeed..<firstSeed + UInt64(trialCount(base: 5)) {
            let world = SchedulerWorld(seed: seed)
            for _ in 0..<Self.stepsPerHistory where world.faults.isEmpty { world.step() }
            if world.faults.isEmpty { world.finish() }
            #expect(world.faults.isEmpty, "seed \(seed): \(world.faults)")
            if !world.faults.isEmpty { return }
            fired += world.fired
            cancelled += world.cancelled
            expired += world.expired
            tooLate += world.tooLate
        }
        // Histories without events prove nothing.
        #expect(fired > 50)
        #expect(cancelled > 50)
        #expect(expired > 5)
        #expect(tooLate > 5)
    }
}
