import LiveActivity
import SenderHistories
import Simulation
import Testing

/// A share of the histories that `deploy/test` lives when the release is built (`flotilla-bench sender-histories`). A
/// failing one runs again by its seed alone: `TEST_SEED=7`.
@Suite struct SenderSimulationTests {
    private func check(_ count: Int, mayDie: Bool, isJoined: Bool = false) {
        var seeds = SystemRandomNumberGenerator()
        for _ in 0..<count {
            let seed = testSeed ?? seeds.next()
            let history = SenderHistory(seed: seed, mayDie: mayDie, isJoined: isJoined)
            #expect(history.faults.isEmpty, "TEST_SEED=\(seed): \(history.faults.joined(separator: "; "))")
            if !history.faults.isEmpty || testSeed != nil { return }
        }
    }

    @Test func `whatever dies, each job has its receipt and no start is doubled`() {
        check(trials(1_000), mayDie: true)
    }

    @Test func `where nothing dies, nothing is done twice`() {
        check(trials(1_000), mayDie: false)
    }

    @Test func `core and pools together keep what each keeps alone`() {
        check(trials(100), mayDie: true, isJoined: true)
        check(trials(100), mayDie: false, isJoined: true)
    }

    @Test func `the simulation meets every outcome`() {
        var met: Set<ReceiptOutcome> = []
        for seed in 0..<300 { met.formUnion(SenderHistory(seed: UInt64(seed), mayDie: true).met) }
        #expect(met == Set(ReceiptOutcome.allCases))
    }
}
