import Glibc
import Kafka
import KafkaTesting
import Telemetry
import Testing

@testable import Topics

/// A separate prefix and an admin client. Its topics are deleted at the end.
private final class Installation {
    let cluster: TestCluster
    let admin: AdminClient
    let prefix = "test-\(getpid())-\(UInt32.random(in: 0 ... .max))."

    init() throws {
        cluster = try TestCluster()
        admin = try AdminClient(
            settings: KafkaSettings(brokers: cluster.brokers), log: .silent, metrics: Metrics())
    }

    deinit {
        let names = ((try? admin.topics()) ?? []).map(\.name).filter { $0.hasPrefix(prefix) }
        if !names.isEmpty { _ = try? admin.deleteTopics(names) }
    }
}

@Test func `created topics fit, and a second creation changes nothing`() throws {
    let place = try Installation()
    let layout = TopicLayout(prefix: place.prefix, lanes: 3)
    #expect(try layout.check(on: place.admin).map(\.property) == TopicName.allCases.map { _ in .existence })
    #expect(try layout.create([.reports], on: place.admin) == [layout.name(of: .reports)])
    #expect(
        try layout.create(on: place.admin)
            == TopicName.allCases.filter { $0 != .reports }.map(layout.name))
    #expect(try layout.check(on: place.admin) == [])
    #expect(try layout.create(on: place.admin) == [])
    try layout.require(TopicName.allCases, on: place.admin)
}

@Test func `another number of lanes is refused with the topic and both numbers`() throws {
    let place = try Installation()
    try TopicLayout(prefix: place.prefix, lanes: 3).create([.reports, .catalog], on: place.admin)
    let error = #expect(throws: MismatchedTopics.self) {
        try TopicLayout(prefix: place.prefix, lanes: 4).require([.reports, .catalog], on: place.admin)
    }
    #expect(error?.mismatches.map(\.actual) == ["3"])
    #expect(
        error?.description.contains("topic \(place.prefix)reports has 3 partitions, 4 are needed") == true)
}

@Test func `a topic with another policy and a missing topic are refused`() throws {
    let place = try Installation()
    let layout = TopicLayout(prefix: place.prefix, lanes: 2)
    _ = try place.admin.createTopics([
        NewTopic(
            name: layout.name(of: .registry), partitionCount: 2, replicationFactor: 1,
            configuration: ["cleanup.policy": "delete"]
        )
    ])
    let found = try layout.check([.registry, .events], on: place.admin)
    #expect(found.map(\.property) == [.cleanup, .existence])
    #expect(found.map(\.description).contains { $0.contains("has cleanup.policy delete, compact is needed") })
    #expect(found.map(\.description).contains { $0.contains("flotilla topics create") })
}

@Test func `topics of the previous version get missing settings and keep their other settings`() throws {
    let place = try Installation()
    let layout = TopicLayout(prefix: place.prefix, lanes: 2)
    // Topics of the previous version, where the cluster stamps only `reports`, and with settings of the
    // operator.
    _ = try place.admin.createTopics([
        NewTopic(
            name: layout.name(of: .events), partitionCount: 2, replicationFactor: 1,
            configuration: [
                "cleanup.policy": "delete", "retention.ms": "9999999999999", "segment.ms": "77777",
            ]
        ),
        NewTopic(
            name: layout.name(of: .superseded), partitionCount: 1, replicationFactor: 1,
            configuration: ["cleanup.policy": "compact", "delete.retention.ms": "86400000"]),
        NewTopic(name: layout.name(of: .registry), partitionCount: 3, replicationFactor: 1),
    ])
    let mended = try layout.alter([.events, .superseded], on: place.admin)
    #expect(mended.map(\.property) == [.timestamps, .cleanup, .timestamps])
    #expect(try layout.check([.events, .superseded], on: place.admin) == [])
    let own = try place.admin.configurations(of: [layout.name(of: .events)])[layout.name(of: .events)]
    #expect(own?["retention.ms"] == "9999999999999" && own?["segment.ms"] == "77777")
    #expect(try layout.alter([.events, .superseded], on: place.admin) == [])
    // Partitions are not altered, and missing topics are not created.
    try layout.alter([.registry, .reports], on: place.admin)
    #expect(
        try layout.check([.registry, .reports], on: place.admin).map(\.property) == [.partitions, .existence])
}

@Test func `more replicas than brokers is an error with a remedy`() throws {
    let place = try Installation()
    let error = #expect(throws: TopicNotCreated.self) {
        try TopicLayout(prefix: place.prefix, lanes: 1, replication: 9).create([.reports], on: place.admin)
    }
    #expect(error?.description.contains("topics.replication") == true, "\(String(describing: error))")
}
