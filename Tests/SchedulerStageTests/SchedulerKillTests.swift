import Foundation
import IngestTesting
import KafkaTesting
import ProcessTesting
import Scheduler
import SchedulerTesting
import Simulation
import Testing

/// Kills two processes of the scheduler at every step, and freezes them beyond their session, while commands arrive,
/// timers fire, and groups end by themselves. Some commands are invalid and become dead letters. Then it checks each reply
/// and each timer (`SchedulerKillTest`). It is a short run of `deploy/prove scheduler-kills`.
@Suite struct SchedulerKillTests {
    @Test
    func `each timer fires once, although two schedulers are frozen, and killed at steps and at random`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = SchedulerKillTest.Plan()
        plan.steps = [
            .deadLettersSent, .transactionBegun, .timersSent, .repliesSent, .offsetsSent, .committed,
            .firingCommitted, .restored,
        ]
        plan.commands = 2000 * trialCount(base: 1)
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let result = try await SchedulerKillTest(
            plan: plan, program: builtProductPath(named: "flotilla-bench"), bed: bed,
            directory: directory.path
        ).run()
        #expect(result.fault == nil, "KILL_SEED=\(plan.seed): \(result.fault ?? "")")
        #expect(result.fired > 0)
        #expect(result.cancelled > 0)
        #expect(result.endedGroups > 0)
        #expect(result.deadLetters > 0)
        #expect(result.reachedSteps == Set(plan.steps), "KILL_SEED=\(plan.seed)")
    }
}
