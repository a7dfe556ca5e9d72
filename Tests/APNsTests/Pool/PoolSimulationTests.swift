import Simulation
import Testing

@testable import APNs

/// Random histories of a pool in a `PoolWorld`, which simulates connections and servers and collects the rules that the
/// pool breaks. The seed alone repeats a history.
@Suite struct PoolSimulationTests {
    private static let stepCount = 120

    /// Runs a history.
    private func play(seed: Int, mutant: PoolMutant? = nil) -> PoolWorld {
        var world = PoolWorld(seed: seed, mutant: mutant)
        for _ in 0..<Self.stepCount { world.takeRandomStep() }
        world.settle()
        return world
    }

    @Test func `each request ends once and within its limits, and nothing is left`() {
        for seed in 0..<trialCount(base: 1_000) {
            let brokenRules = play(seed: seed).brokenRules
            #expect(brokenRules.isEmpty, "seed \(seed): \(brokenRules.sorted())")
            if !brokenRules.isEmpty { return }
        }
    }

    @Test func `the simulation reaches every way in which a request can end`() {
        // Nil would be a request that never ended.
        var ends: Set<PushEnd?> = []
        var lateAnswerCount = 0
        var missingAnswerCount = 0
        // Enough seeds to reach each end.
        for seed in 0..<400 {
            let world = play(seed: seed)
            ends.formUnion(world.ends)
            lateAnswerCount += world.lateAnswerCount
            missingAnswerCount += world.missingAnswerCount
        }
        let expected: [PushEnd] = [
            .answered, .withdrawn, .unknown(.overdue), .unknown(.reset), .unknown(.connectionLost),
            .notProcessed(.overdue), .notProcessed(.noConnection), .notProcessed(.refused),
            .notProcessed(.stopped),
        ]
        #expect(ends == Set(expected))
        #expect(lateAnswerCount > 0)
        #expect(missingAnswerCount > 0)
    }

    @Test(arguments: PoolMutant.allCases)
    func `the simulation detects a wrong pool`(mutant: PoolMutant) {
        let isDetected = (0..<1_000).contains { !play(seed: $0, mutant: mutant).brokenRules.isEmpty }
        #expect(isDetected, "the simulation did not detect \(mutant)")
    }
}
