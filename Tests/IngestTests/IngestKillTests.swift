import Foundation
import Ingest
import IngestTesting
import KafkaTesting
import ProcessTesting
import Simulation
import Testing

/// Kills two processes of the ingest stage at every step while reports arrive, and then compares the topics with a
/// model (`IngestKillTest`). It is a short run of `deploy/prove ingest-kills`.
@Suite struct IngestKillTests {
    @Test func `the registry is exact although two processes die at steps, at random, and as zombies`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = IngestKillTest.Plan()
        plan.steps = [.deadLettersSent, .transactionBegun, .offsetsSent, .committed, .viewWritten, .restored]
        plan.reports = 2000 * trialCount(base: 1)
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let result = try await IngestKillTest(
            plan: plan, program: builtProductPath(named: "flotilla-bench"), bed: bed,
            directory: directory.path
        ).run()
        #expect(result.fault == nil, "KILL_SEED=\(plan.seed): \(result.fault ?? "")")
        #expect(result.rows > 0)
        #expect(result.deadLetters > 0)
        #expect(result.reachedSteps == Set(plan.steps), "KILL_SEED=\(plan.seed)")
    }
}
