import LiveActivity
import Simulation
import Testing

@testable import Sender

/// Seeded histories of a fan-out, a cluster, APNs and processes that die, stop and change places. A failing
/// one runs again by its seed alone: `TEST_SEED=7`.
@Suite struct SenderSimulationTests {
    private func live(_ seed: UInt64, mayDie: Bool, isJoined: Bool = false) -> SenderWorld {
        let world = SenderWorld(seed: seed, mayDie: mayDie, isJoined: isJoined)
        for _ in 0..<60 where world.faults.isEmpty { world.step() }
        if world.faults.isEmpty { world.settle() }
        return world
    }

    private func check(_ count: Int, mayDie: Bool, isJoined: Bool = false) {
        var seeds = SystemRandomNumberGenerator()
        for _ in 0..<count {
            let seed = testSeed ?? seeds.next()
            let world = live(seed, mayDie: mayDie, isJoined: isJoined)
            #expect(world.faults.isEmpty, "TEST_SEED=\(seed): \(world.faults.joined(separator: "; "))")
            if !world.faults.isEmpty || testSeed != nil { return }
        }
    }

    @Test func `whatever dies, each job has its receipt and no start is doubled`() {
        check(trials(2_500), mayDie: true)
    }

    @Test func `where nothing dies, nothing is done twice`() {
        check(trials(2_500), mayDie: false)
    }

    @Test func `core and pools together keep what each keeps alone`() {
        check(trials(250), mayDie: true, isJoined: true)
        check(trials(250), mayDie: false, isJoined: true)
    }

    @Test func `the simulation meets every outcome`() {
        var met: Set<ReceiptOutcome> = []
        for seed in 0..<300 { met.formUnion(live(UInt64(seed), mayDie: true).met) }
        #expect(met == Set(ReceiptOutcome.allCases))
    }
}
