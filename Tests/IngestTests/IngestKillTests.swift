import Foundation
import Ingest
import IngestTesting
import KafkaTesting
import ProcessTesting
import Simulation
import Testing

/// Kills two processes of the ingest stage at six of its steps, at random, and while they are frozen beyond their
/// session. Reports arrive meanwhile. Then it compares the topics with a model (`IngestKillTest`). `deploy/prove
/// ingest-kills` is a long run with all steps.
@Suite struct IngestKillTests {
    @Test func `the registry is exact although two processes die at steps, at random, and after a freeze`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = IngestKillTest.Plan()
        plan.steps = [.deadLettersSent, .transactionBegun, .offsetsSent, .committed, .viewWritten, .restored]
        plan.reports = 2000 * trialCount(base: 1)
        // Each run has a new seed, and `KILL_SEED` repeats one.
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
