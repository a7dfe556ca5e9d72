import CatalogRecords
import Glibc
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import Catalog

/// A broker with the topics of the catalog and of the audit, and a writer for them.
private struct Bench {
    let cluster: TestCluster
    let settings: KafkaSettings
    let catalog = "catalog-\(UInt64.random(in: 0 ... .max))"
    let audit = "audit-\(UInt64.random(in: 0 ... .max))"

    init() throws {
        cluster = try TestCluster()
        settings = KafkaSettings(brokers: cluster.brokers)
        let admin = try AdminClient(settings: settings, log: .silent, metrics: Metrics())
        for (name, policy) in [(catalog, "compact"), (audit, "delete")] {
            let topic = NewTopic(
                name: name, partitionCount: 1, replicationFactor: 1, configuration: ["cleanup.policy": policy]
            )
            #expect(try admin.createTopics([topic]).allSatisfy { $0.code == .none })
        }
        try admin.waitForLeaders(of: [catalog, audit], withinMilliseconds: 30_000)
    }

    func writer() throws -> CatalogWriter {
        try CatalogWriter(
            settings, catalog: catalog, audit: audit, author: "a test", metrics: Metrics())
    }

    func context(_ onFailure: @escaping @Sendable (any Error) -> Void = { _ in }) -> ServiceContext {
        ServiceContext(log: .silent, metrics: Metrics(), onFailure: onFailure)
    }
}

/// Tests of `CatalogReader`, which reads the topic of the catalog once to its end, or follows it.
struct CatalogReaderTests {
    @Test func `reading to the end returns all earlier records`() async throws {
        try await onThread {
            let bench = try Bench()
            let writer = try bench.writer()
            let now = WallTime.now()
            try writer.write(.put(makeApp("a"), action: "create"), now: now)
            try writer.write(.put(makeApp("b"), action: "create"), now: now)
            let before = try CatalogReader.readToEnd(bench.settings, topic: bench.catalog, metrics: Metrics())
            #expect(before.apps.keys.sorted() == ["a", "b"])
            try writer.delete(makeApp("a"), withKeys: [], now: now)
            let after = try CatalogReader.readToEnd(bench.settings, topic: bench.catalog, metrics: Metrics())
            #expect(after.apps.keys.sorted() == ["b"])
        }
    }

    @Test func `a following reader publishes complete catalogs, and a published catalog stays unchanged`()
        async throws
    {
        let bench = try Bench()
        let reader = CatalogReader(Cluster(settings: bench.settings), topic: bench.catalog)
        try await reader.start(bench.context())
        try await eventually("the end of an empty catalog") { reader.catalog != nil }
        let first = reader.catalog
        let key = APIKeyText.makeKey(app: "a", role: .report, atMilliseconds: 0)
        try await onThread {
            let writer = try bench.writer()
            try writer.write(.put(makeApp("a"), action: "create"), now: .now())
            try writer.write(.put(key.record, action: "create"), now: .now())
        }
        try await eventually("the key") { reader.catalog?.keys[key.record.id] != nil }
        #expect(reader.catalog?.apps["a"] == makeApp("a"))
        #expect(first?.apps.isEmpty == true)
        await reader.stop(by: .now())
    }

    @Test func `without Kafka a reader starts, knows nothing, and stops`() async throws {
        let reader = CatalogReader(
            Cluster(settings: KafkaSettings(brokers: ["127.0.0.1:1"])), topic: "catalog")
        try await reader.start(
            ServiceContext(log: .silent, metrics: Metrics()) { Issue.record("the reader failed: \($0)") })
        #expect(reader.catalog == nil)
        await reader.stop(by: .now())
    }

    @Test func `a topic that is deleted and created again does not keep its old apps`() async throws {
        let bench = try Bench()
        let reader = CatalogReader(Cluster(settings: bench.settings), topic: bench.catalog)
        try await reader.start(bench.context())
        try await onThread {
            for app in ["a", "c"] {
                try bench.writer().write(.put(makeApp(app), action: "create"), now: .now())
            }
        }
        try await eventually("the apps") { reader.catalog?.apps.count == 2 }
        try await onThread {
            _ = try AdminClient(settings: bench.settings, log: .silent, metrics: Metrics()).deleteTopics([
                bench.catalog
            ])
        }
        try await eventually("the end of the old topic") {
            try await onThread {
                let topic = NewTopic(
                    name: bench.catalog, partitionCount: 1, replicationFactor: 1,
                    configuration: ["cleanup.policy": "compact"])
                let admin = try AdminClient(settings: bench.settings, log: .silent, metrics: Metrics())
                return try admin.createTopics([topic]).first?.code == Kafka.KafkaErrorCode.none
            }
        }
        try await onThread {
            try bench.writer().write(.put(makeApp("b"), action: "create"), now: .now())
        }
        try await eventually("the apps of the new topic") { reader.catalog?.apps.keys.sorted() == ["b"] }
        await reader.stop(by: .now())
    }
}
