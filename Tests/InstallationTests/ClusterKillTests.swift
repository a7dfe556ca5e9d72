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
        let outages = NodeOutages()
        let cluster = try TestCluster(injecting: outages)
        var plan = ClusterKillTest.Plan()
        (plan.processesPerStage, plan.phones, plan.kills) = (1, 100, 3)
        // The imitated cluster needs as long as Kafka to notice a death (9 s). The limit of the proof holds here too.
        (plan.awayMilliseconds, plan.calmMilliseconds) = (10_000...11_000, 3000)
        let result = try await ClusterKillTest(
            plan: plan,
            // The plan counts nodes from 1, and `NodeOutages` from 0.
            nodes: ClusterKillTest.Nodes(
                kill: { outages.kill(node: $0 - 1) }, start: { outages.start(node: $0 - 1) }),
            programs: programs, brokers: cluster.brokers, directory: directory.path
        ).run()
        #expect(result.faults == [])
        #expect(result.killCount == 3)
    }
}
