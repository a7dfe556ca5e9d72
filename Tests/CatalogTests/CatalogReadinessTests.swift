import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import Catalog

/// Tests of the condition under which a catalog counts as read, so that the process may use it.
struct CatalogReadinessTests {
    /// The goal is 200 ms. The library's own timers tick every half second, and with them it took a second.
    private static let millisecondsMax = 400

    @Test(arguments: [0, 3]) func `the catalog is known as soon as the cluster has answered`(apps: Int)
        async throws
    {
        let cluster = try TestCluster(weatherSeed: nil)
        let settings = KafkaSettings(brokers: cluster.brokers)
        try await onThread {
            let admin = try AdminClient(settings: settings, log: .silent, metrics: Metrics())
            for name in ["catalog", "audit"] {
                _ = try admin.createTopics([NewTopic(name: name, partitionCount: 1, replicationFactor: 1)])
            }
            let writer = try CatalogWriter(
                settings, catalog: "catalog", audit: "audit", author: "a test", metrics: Metrics())
            for number in 0..<apps {
                try writer.write(.put(makeApp("app-\(number)"), action: "create"), now: .now())
            }
        }
        var best = Int.max
        for _ in 0..<5 {
            let reader = CatalogReader(Cluster(settings: settings), topic: "catalog")
            let began = Instant.now()
            try await reader.start(
                ServiceContext(log: .silent, metrics: Metrics()) { Issue.record("the reader failed: \($0)") })
            try await eventually("the catalog") { reader.catalog != nil }
            best = min(best, Instant.now().milliseconds(since: began))
            #expect(reader.catalog?.apps.count == apps)
            await reader.stop(by: .now())
        }
        #expect(best < Self.millisecondsMax)
    }
}
