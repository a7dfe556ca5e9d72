import Glibc
import Kafka
import KafkaTesting
import Telemetry
import Testing

@testable import Topics

// The creation, the check and the repair of an installation's topics, on a cluster.

/// A cluster with a prefix that no other test uses, and an admin client. The topics with the prefix are deleted at the
/// end.
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
    let installation = try Installation()
    let layout = TopicLayout(prefix: installation.prefix, lanes: 3)
    #expect(
        try layout.check(on: installation.admin).map(\.property) == TopicName.allCases.map { _ in .existence }
    )
    #expect(try layout.create([.reports], on: installation.admin) == [layout.name(of: .reports)])
    #expect(
        try layout.create(on: installation.admin)
            == TopicName.allCases.filter { $0 != .reports }.map(layout.name))
    #expect(try layout.check(on: installation.admin) == [])
    #expect(try layout.create(on: installation.admin) == [])
    try layout.require(TopicName.allCases, on: installation.admin)
}

@Test func `another number of lanes is refused with the topic and both numbers`() throws {
    let installation = try Installation()
    try TopicLayout(prefix: installation.prefix, lanes: 3).create(
        [.reports, .catalog], on: installation.admin)
    let error = #expect(throws: MismatchedTopics.self) {
        try TopicLayout(prefix: installation.prefix, lanes: 4).require(
            [.reports, .catalog], on: installation.admin)
    }
    #expect(error?.mismatches.map(\.actual) == ["3"])
    #expect(
        error?.description.contains("topic \(installation.prefix)reports has 3 partitions, 4 are needed")
            == true)
}

@Test func `a topic with another policy and a missing topic are refused`() throws {
    let installation = try Installation()
    let layout = TopicLayout(prefix: installation.prefix, lanes: 2)
    _ = try installation.admin.createTopics([
        NewTopic(
            name: layout.name(of: .registry), partitionCount: 2, replicationFactor: 1,
            configuration: ["cleanup.policy": "delete"]
        )
    ])
    let mismatches = try layout.check([.registry, .events], on: installation.admin)
    #expect(mismatches.map(\.property) == [.cleanup, .compactionLag, .existence])
    let texts = mismatches.map(\.description)
    #expect(texts.contains { $0.contains("has cleanup.policy delete, compact is needed") })
    #expect(texts.contains { $0.contains("flotilla topics create") })
}

@Test func `topics of the previous version get missing settings and keep their other settings`() throws {
    let installation = try Installation()
    let layout = TopicLayout(prefix: installation.prefix, lanes: 2)
    // Topics of the previous version, where the cluster stamps only `reports`, and with settings of the
    // operator.
    _ = try installation.admin.createTopics([
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
    let altered = try layout.alter([.events, .superseded], on: installation.admin)
    // The first is of `events`, the others are of `superseded`.
    #expect(altered.map(\.property) == [.timestamps, .cleanup, .compactionLag, .timestamps])
    #expect(try layout.check([.events, .superseded], on: installation.admin) == [])
    let configuration = try installation.admin.configurations(of: [layout.name(of: .events)])[
        layout.name(of: .events)]
    #expect(
        configuration?["retention.ms"] == "9999999999999" && configuration?["segment.ms"] == "77777",
        "the operator's settings stay")
    #expect(try layout.alter([.events, .superseded], on: installation.admin) == [])

    // Partitions are not altered, and missing topics are not created.
    try layout.alter([.registry, .reports], on: installation.admin)
    #expect(
        try layout.check([.registry, .reports], on: installation.admin).map(\.property) == [
            .partitions, .existence,
        ])
}

@Test func `more replicas than brokers is an error with a remedy`() throws {
    let installation = try Installation()
    let error = #expect(throws: TopicNotCreated.self) {
        try TopicLayout(prefix: installation.prefix, lanes: 1, replication: 9).create(
            [.reports], on: installation.admin)
    }
    #expect(error?.description.contains("topics.replication") == true, "\(String(describing: error))")
}
