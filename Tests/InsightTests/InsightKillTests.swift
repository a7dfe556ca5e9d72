import Foundation
import IngestTesting
import Insight
import InsightTesting
import KafkaTesting
import ProcessTesting
import Simulation
import Testing

/// The short form of `deploy/prove insight-kills`.
@Suite struct InsightKillTests {
    @Test func `two processes that die and lose files still answer every figure of a day`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = InsightKillTest.Plan()
        plan.records = 6000 * trialCount(base: 1)
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let result = try await InsightKillTest(
            plan: plan, program: builtProductPath(named: "flotilla-bench"), bed: bed,
            directory: directory.path
        ).run()
        #expect(result.fault == nil, "seed \(plan.seed): \(result.fault ?? "")")
        #expect(result.records >= plan.records && result.figureCount > 1000)
        #expect(result.reachedSteps == Set(plan.steps), "seed \(plan.seed)")
    }
}
