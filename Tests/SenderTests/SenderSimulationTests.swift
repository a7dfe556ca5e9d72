import Jobs
import SenderHistories
import Simulation
import Testing

/// A part of the histories that `deploy/test` runs on a release build (`flotilla-bench sender-histories`).
/// The seed alone repeats a failed history: `TEST_SEED=7`.
@Suite struct SenderSimulationTests {
    private func check(_ count: Int, mayDie: Bool, isJoined: Bool = false) {
        var seeds = SystemRandomNumberGenerator()
        for _ in 0..<count {
            let seed = testSeed ?? seeds.next()
            let history = SenderHistory(seed: seed, mayDie: mayDie, usesRealPools: isJoined)
            #expect(history.faults.isEmpty, "TEST_SEED=\(seed): \(history.faults.joined(separator: "; "))")
            if !history.faults.isEmpty || testSeed != nil { return }
        }
    }

    @Test func `after any deaths each job has a receipt, and no start is duplicated`() {
        check(trialCount(base: 1_000), mayDie: true)
    }

    @Test func `without deaths nothing is done twice`() {
        check(trialCount(base: 1_000), mayDie: false)
    }

    @Test func `plan and pools together keep their promises`() {
        check(trialCount(base: 100), mayDie: true, isJoined: true)
        check(trialCount(base: 100), mayDie: false, isJoined: true)
    }

    @Test func `the simulation meets every outcome`() {
        var met: Set<ReceiptOutcome> = []
        for seed in 0..<300 { met.formUnion(SenderHistory(seed: UInt64(seed), mayDie: true).outcomes) }
        #expect(met == Set(ReceiptOutcome.allCases))
    }
}
