import Foundation
import KafkaTesting
import ProcessTesting
import SenderTesting
import Testing

/// The small form of `deploy/prove sender-kills`.
@Suite(.timeLimit(.minutes(10))) struct SenderKillTests {
    @Test func `senders, broker and APNs die while jobs flow, and each job is done once`() async throws {
        let directory = try TemporaryDirectory()
        let programs = URL(fileURLWithPath: builtProductPath(named: "flotilla")).deletingLastPathComponent()
            .path
        var plan = SenderKillTest.Plan()
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let kills = try await SenderKillTest(
            plan: plan, programs: programs, brokers: TestCluster.environmentBrokers, directory: directory.path
        )
        let verdict = try await kills.run()
        #expect(verdict.faults.isEmpty, "seed \(plan.seed): \(verdict.faults); \(verdict.summary)")
        #expect(verdict.jobs >= plan.jobs)
    }
}
