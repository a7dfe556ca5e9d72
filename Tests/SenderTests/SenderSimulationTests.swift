import Jobs
import SenderHistories
import Simulation
import Testing

/// Random histories of senders, checked after every step (`SenderSimulation`). `deploy/test` runs more of them on a
/// release build (`flotilla-bench sender-histories`). The seed alone repeats a failed history: `TEST_SEED=7`.
@Suite struct SenderSimulationTests {
    private func checkHistories(
        count: Int, kind: SenderHistory.Kind = .mixed, hasKillsAndStops: Bool, usesRealPools: Bool = false
    ) {
        var seeds = SystemRandomNumberGenerator()
        for _ in 0..<count {
            let seed = testSeed ?? seeds.next()
            let history = SenderHistory(
                seed: seed, kind: kind, hasKillsAndStops: hasKillsAndStops, usesRealPools: usesRealPools)
            #expect(
                history.violations.isEmpty, "TEST_SEED=\(seed): \(history.violations.joined(separator: "; "))"
            )
            if !history.violations.isEmpty || testSeed != nil { return }
        }
    }

    @Test func `after any deaths each job has a receipt, and no start is duplicated`() {
        checkHistories(count: trialCount(base: 1_000), hasKillsAndStops: true)
    }

    @Test func `without deaths nothing is done twice`() {
        checkHistories(count: trialCount(base: 1_000), hasKillsAndStops: false)
    }

    @Test(arguments: [true, false])
    func `jobs that newer ones replace have their receipts soon after the faults, also with slow loops`(
        hasKillsAndStops: Bool
    ) {
        checkHistories(count: trialCount(base: 200), kind: .overtaken, hasKillsAndStops: hasKillsAndStops)
    }

    @Test(arguments: [true, false])
    func `the guarantees also hold for the plan and the connection pools together`(hasKillsAndStops: Bool) {
        checkHistories(count: trialCount(base: 100), hasKillsAndStops: hasKillsAndStops, usesRealPools: true)
    }

    @Test func `the simulation meets every outcome`() {
        var outcomes: Set<ReceiptOutcome> = []
        for seed in 0..<300 {
            outcomes.formUnion(SenderHistory(seed: UInt64(seed), hasKillsAndStops: true).outcomes)
        }
        #expect(outcomes == Set(ReceiptOutcome.allCases))
    }
}
