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
        let bed = try IngestBed(cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = InsightKills.Plan()
        plan.records = 6000 * trials(1)
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let result = try await InsightKills(
            plan, program: builtProduct("flotilla-bench"), bed: bed, directory: directory.path
        ).run()
        #expect(result.fault == nil, "seed \(plan.seed): \(result.fault ?? "")")
        #expect(result.records >= plan.records && result.figures > 1000)
        #expect(result.stepsMet == Set(plan.steps), "seed \(plan.seed)")
    }
}
