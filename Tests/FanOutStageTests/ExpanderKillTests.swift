import FanOut
import FanOutTesting
import Foundation
import IngestTesting
import KafkaTesting
import ProcessTesting
import Simulation
import Testing

/// Kills two expanders at some of their steps and at random, and freezes them beyond their session, while sends expand.
/// Then it checks that each token has its jobs once (`ExpanderKillTest`). It is a short run of `deploy/prove
/// fan-out-kills`.
@Suite struct ExpanderKillTests {
    @Test
    func `each job is written once although two expanders are killed at steps and at random, and frozen`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = ExpanderKillTest.Plan()
        plan.steps = [
            .registryChangesRead, .pagesWalked, .transactionBegun, .jobsSent, .continuationsSent,
            .offsetsSent,
            .committed, .restored,
        ]
        plan.phones = 1500 * trialCount(base: 1)
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let result = try await ExpanderKillTest(
            plan: plan, program: builtProductPath(named: "flotilla-bench"), bed: bed,
            directory: directory.path
        ).run()
        #expect(result.fault == nil, "KILL_SEED=\(plan.seed): \(result.fault ?? "")")
        #expect(result.reachedSteps == Set(plan.steps), "KILL_SEED=\(plan.seed)")
    }
}
