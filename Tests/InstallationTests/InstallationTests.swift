import Foundation
import InstallationTesting
import KafkaTesting
import ProcessTesting
import Testing

/// A fleet keeps its guarantees while its processes have faults. It is the short form of `deploy/prove installation`.
@Suite(.timeLimit(.minutes(15))) struct InstallationTests {
    private func runKillTest(_ plan: InstallationKillTest.Plan) async throws -> InstallationCheck {
        let directory = try TemporaryDirectory()
        let programs = builtProductsDirectory
        let killTest = try await InstallationKillTest(
            plan: plan, programs: programs, brokers: TestCluster.environmentBrokers, directory: directory.path
        )
        return try await killTest.run()
    }

    @Test func `a fleet keeps its guarantees while processes die, freeze, stop, start and have wrong clocks`()
        async throws
    {
        var plan = InstallationKillTest.Plan()
        plan.phones = 2_000
        plan.updates = 10
        plan.processesPerStage = 2
        plan.faultIntervalMilliseconds = 300
        plan.faultsMax = 20
        plan.seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...999_999)
        let check = try await runKillTest(plan)
        #expect(check.faults.isEmpty, "KILL_SEED=\(plan.seed): \(check.faults); \(check.summary)")
        let tokensPerPhone = 2
        #expect(check.tokens >= tokensPerPhone * plan.phones, "the match did not reach every phone")
    }

    /// There is one sender, so that no other sender does its work.
    @Test func `a sender pushes normally while its clock is wrong, and afterwards`() async throws {
        var plan = InstallationKillTest.Plan()
        plan.phones = 300
        plan.updates = 25
        plan.processesPerStage = 1
        plan.wrongClockMilliseconds = 2_500
        plan.faultIntervalMilliseconds = 3_000
        plan.hasOnlySenderClockFaults = true
        let check = try await runKillTest(plan)
        #expect(check.faults.isEmpty, "\(check.faults); \(check.summary)")
    }
}
