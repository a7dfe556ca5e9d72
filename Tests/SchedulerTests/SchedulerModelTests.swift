import Simulation
import Testing

@testable import Scheduler

/// `deploy/prove scheduler-histories` runs a million steps.
@Suite struct SchedulerModelTests {
    private static let steps = 2000

    @Test func `each timer fires once, or never after a cancel in time`() {
        var seeds = SystemRandomNumberGenerator()
        let base = seeds.next() >> 16
        var (fired, canceled, expired, tooLate) = (0, 0, 0, 0)
        for seed in base..<base + UInt64(trialCount(base: 5)) {
            let world = SchedulerWorld(seed: seed)
            for _ in 0..<Self.steps where world.faults.isEmpty { world.step() }
            if world.faults.isEmpty { world.finish() }
            #expect(world.faults.isEmpty, "seed \(seed): \(world.faults)")
            if !world.faults.isEmpty { return }
            fired += world.fired
            canceled += world.canceled
            expired += world.expired
            tooLate += world.tooLate
        }
        // A run without events proves nothing.
        #expect(
            fired > 50 && canceled > 50 && expired > 5 && tooLate > 5,
            "\(fired) \(canceled) \(expired) \(tooLate)")
    }
}
