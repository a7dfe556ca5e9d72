import Foundation
import InstallationTesting
import KafkaTesting
import ProcessTesting
import Testing

/// The short form of `deploy/prove installation`.
@Suite(.timeLimit(.minutes(15))) struct InstallationTests {
    private func verdict(of plan: InstallationKills.Plan) async throws -> InstallationVerdict {
        let directory = try TemporaryDirectory()
        let programs = URL(fileURLWithPath: builtProduct("flotilla")).deletingLastPathComponent().path
        let kills = try await InstallationKills(
            plan, programs: programs, brokers: TestCluster.given, directory: directory.path)
        return try await kills.run()
    }

    @Test func `a fleet keeps its guarantees while processes die, freeze, stop, start and have wrong clocks`()
        async throws
    {
        var plan = InstallationKills.Plan()
        plan.phones = 2_000
        plan.updates = 10
        plan.each = 2
        plan.paceMilliseconds = 300
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
        var plan = InstallationKills.Plan()
        plan.phones = 300
        plan.updates = 25
        plan.each = 1
        plan.wrongMilliseconds = 2_500
        plan.paceMilliseconds = 3_000
        plan.isOfSendersClocks = true
        let verdict = try await verdict(of: plan)
        #expect(verdict.faults.isEmpty, "\(verdict.faults); \(verdict.summary)")
    }
}
