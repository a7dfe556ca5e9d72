import FanOut
import FanOutTesting
import Foundation
import IngestTesting
import KafkaTesting
import ProcessTesting
import Simulation
import Testing

/// Kills two planners at some of their steps and at random, and freezes them beyond their session, while sends arrive.
/// Then it compares their output with a model (`PlannerKillTest`). It is a short run of `deploy/prove planner-kills`.
@Suite struct PlannerKillTests {
    @Test
    func `each send is planned once although two planners are killed at steps and at random, and frozen`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = PlannerKillTest.Plan()
        plan.steps = [
            .deadLettersSent, .transactionBegun, .expansionsSent, .offsetsSent, .committed,
            .messagesSent,
            .restored,
            .heldSendsPlanned,
        ]
        plan.sends = 2000 * trialCount(base: 1)
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let result = try await PlannerKillTest(
            plan: plan, program: builtProductPath(named: "flotilla-bench"), bed: bed,
            directory: directory.path
        ).run()
        #expect(result.fault == nil, "KILL_SEED=\(plan.seed): \(result.fault ?? "")")
        #expect(result.sends > 0 && result.deadLetters > 0)
        #expect(result.reachedSteps == Set(plan.steps), "KILL_SEED=\(plan.seed)")
    }
}
