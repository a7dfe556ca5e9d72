import Kafka
import KafkaTesting
import Telemetry
import Testing

@testable import Topics

/// Topics that were created a moment ago, with simulated delays of Kafka.
struct FreshTopicsTests {
    private let layout = TopicLayout(prefix: "fresh.", lanes: 3)

    private func admin(_ cluster: TestCluster) throws -> AdminClient {
        try AdminClient(settings: KafkaSettings(brokers: cluster.brokers), log: .silent, metrics: Metrics())
    }

    @Test(arguments: UInt64(1)...3) func `created topics are usable`(seed: UInt64) throws {
        let cluster = try TestCluster(delaySeed: seed)
        let admin = try admin(cluster)
        #expect(try layout.create(on: admin) == TopicName.allCases.map(layout.name))
        for topic in TopicName.allCases {
            #expect(cluster.isServing(topic: layout.name(of: topic)), "\(topic)")
        }
        #expect(try layout.create(on: admin) == [])
    }

    @Test(arguments: UInt64(1)...3) func `a topic created just now is not missing`(seed: UInt64) throws {
        let cluster = try TestCluster(delaySeed: seed)
        let admin = try admin(cluster)
        // Another process would create them like this and not wait.
        let made = try admin.createTopics(
            TopicName.allCases.map { topic in
                let need = layout.requirements(of: topic)
                return NewTopic(
                    name: layout.name(of: topic), partitionCount: need.partitions, replicationFactor: 1,
                    configuration: need.configuration(replication: 1))
            })
        #expect(made.allSatisfy { $0.code == .none })
        #expect(try layout.check(on: self.admin(cluster)) == [])
    }

    @Test(arguments: UInt64(1)...3) func `a topic under deletion is created again`(seed: UInt64) throws {
        let cluster = try TestCluster(delaySeed: seed)
        let admin = try admin(cluster)
        try layout.create([.events, .reports], on: admin)
        #expect(try admin.deleteTopics([layout.name(of: .events)]).map(\.code) == [.none])
        try layout.create([.events, .reports], on: admin)
        #expect(try layout.check([.events, .reports], on: admin) == [])
    }
}
