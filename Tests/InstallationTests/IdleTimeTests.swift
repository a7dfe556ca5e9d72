import Foundation
import InstallationTesting
import KafkaTesting
import ProcessTesting
import Testing

/// A fleet survives an idle time in which retention deletes the records of all topics that are deleted by time. It is
/// the short form of `deploy/prove idle`.
@Suite(.timeLimit(.minutes(5))) struct IdleTimeTests {
    @Test func `a fleet that was idle until retention emptied its topics reaches every phone again`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let programs = builtProductsDirectory
        var plan = InstallationIdleTest.Plan()
        (plan.phones, plan.updates, plan.lanes) = (100, 3, 3)
        let faults = try await InstallationIdleTest(
            plan: plan, programs: programs, brokers: TestCluster.environmentBrokers, directory: directory.path
        ).run()
        #expect(faults == [])
    }
}
