import Foundation
import KafkaTesting
import ProcessTesting
import SenderTesting
import Testing

/// Kills senders, the broker and the simulated APNs while jobs arrive, and then checks the outcome of every job
/// (`SenderCheck`). It is the short form of `deploy/prove sender-kills`. `KILL_SEED` repeats a failed run.
@Suite(.timeLimit(.minutes(10))) struct SenderKillTests {
    @Test func `senders, broker and APNs die while jobs flow, and each job is done once`() async throws {
        let directory = try TemporaryDirectory()
        let programs = builtProductsDirectory
        var plan = SenderKillTest.Plan()
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let killTest = try await SenderKillTest(
            plan: plan, programs: programs, brokers: TestCluster.environmentBrokers, directory: directory.path
        )
        let check = try await killTest.run()
        #expect(check.faults.isEmpty, "KILL_SEED=\(plan.seed): \(check.faults); \(check.summary)")
        #expect(check.jobs >= plan.jobs)
    }
}
