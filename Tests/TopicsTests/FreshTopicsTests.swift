import Kafka
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Topics

/// Topics that were created a moment ago. The seed chooses the delays after which brokers know and lead a topic
/// (`ClusterDelayModel`).
struct FreshTopicsTests {
    private let layout = TopicLayout(prefix: "fresh.", lanes: 3)

    private func makeAdmin(for cluster: TestCluster) throws -> AdminClient {
        try AdminClient(settings: KafkaSettings(brokers: cluster.brokers), log: .silent, metrics: Metrics())
    }

    @Test(arguments: UInt64(1)...3) func `created topics are usable`(seed: UInt64) throws {
        let cluster = try TestCluster(weatherSeed: seed)
        let admin = try makeAdmin(for: cluster)
        #expect(try layout.create(on: admin) == TopicName.allCases.map(layout.name))
        for topic in TopicName.allCases {
            #expect(cluster.isServing(topic: layout.name(of: topic)), "\(topic)")
        }
        #expect(try layout.create(on: admin) == [])
    }

    @Test(arguments: UInt64(1)...3) func `a topic created just now is not missing`(seed: UInt64) throws {
        let cluster = try TestCluster(weatherSeed: seed)
        let admin = try makeAdmin(for: cluster)
        // Another process creates the topics in this way, and does not wait until they have leaders.
        let created = try admin.createTopics(
            TopicName.allCases.map { topic in
                let requirements = layout.requirements(of: topic)
                return NewTopic(
                    name: layout.name(of: topic), partitionCount: requirements.partitions,
                    replicationFactor: 1,
                    configuration: requirements.configuration(replication: 1))
            })
        #expect(created.allSatisfy { $0.code == .none })
        // A new client, which has no metadata yet.
        #expect(try layout.check(on: makeAdmin(for: cluster)) == [])
    }

    @Test(arguments: UInt64(1)...3) func `a topic under deletion is created again`(seed: UInt64) throws {
        let cluster = try TestCluster(weatherSeed: seed)
        let admin = try makeAdmin(for: cluster)
        try layout.create([.events, .reports], on: admin)
        #expect(try admin.deleteTopics([layout.name(of: .events)]).map(\.code) == [.none])
        // The cluster may keep the topic for a moment after its answer. Then a call finds it, and the next one creates it.
        let deadline = Instant.now().advanced(byMilliseconds: 15_000)
        var created: [String] = []
        while created.isEmpty, Instant.now() < deadline {
            created = try layout.create([.events, .reports], on: admin)
        }
        #expect(created == [layout.name(of: .events)])
        #expect(try layout.check([.events, .reports], on: admin) == [])
    }
}
