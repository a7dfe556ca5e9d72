import Foundation
import IngestTesting
import KafkaTesting
import ProcessTesting
import Simulation
import Testing
import WebhooksTesting

/// The short form of `deploy/prove webhook-kills`.
@Suite struct WebhookKillTests {
    @Test func `two processes that die lose no event, and keep the order of each user`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        var plan = WebhookKillTest.Plan()
        plan.events = 2000 * trialCount(base: 1)
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let result = try await WebhookKillTest(
            plan: plan, program: builtProductPath(named: "flotilla-bench"), bed: bed,
            directory: directory.path
        ).run()
        #expect(result.fault == nil, "seed \(plan.seed): \(result.fault ?? "")")
        #expect(result.events >= plan.events && result.calls >= result.events)
        #expect(result.reachedSteps == Set(plan.steps), "seed \(plan.seed)")
    }
}
