import Foundation
import InstallationTesting
import KafkaTesting
import ProcessTesting
import Testing

/// The short form of `deploy/prove installation`.
@Suite(.timeLimit(.minutes(15))) struct InstallationTests {
    private func verdict(of plan: InstallationKillTest.Plan) async throws -> InstallationCheck {
        let directory = try TemporaryDirectory()
        let programs = URL(fileURLWithPath: builtProductPath(named: "flotilla")).deletingLastPathComponent()
            .path
        let kills = try await InstallationKillTest(
            plan: plan, programs: programs, brokers: TestCluster.environmentBrokers, directory: directory.path
        )
        return try await kills.run()
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
        let verdict = try await verdict(of: plan)
        #expect(verdict.faults.isEmpty, "seed \(plan.seed): \(verdict.faults); \(verdict.summary)")
        #expect(verdict.tokens >= 2 * plan.phones)
    }

    /// There is one sender, so that no other sender does its work.
    @Test
    func `a sender with a wrong clock pushes normally, then and afterwards`()
        async throws
    {
        var plan = InstallationKillTest.Plan()
        plan.phones = 300
        plan.updates = 25
        plan.processesPerStage = 1
        plan.wrongClockMilliseconds = 2_500
        plan.faultIntervalMilliseconds = 3_000
        plan.hasOnlySenderClockFaults = true
        let verdict = try await verdict(of: plan)
        #expect(verdict.faults.isEmpty, "\(verdict.faults); \(verdict.summary)")
    }
}
