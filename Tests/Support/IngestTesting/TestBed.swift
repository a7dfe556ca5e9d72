internal import Catalog
package import CatalogRecords
internal import Glibc
internal import Identifiers
package import Kafka
internal import KafkaTesting
package import StageSupport
internal import Telemetry
package import TokenSealing
package import Topics

/// The topics of one Flotilla installation for one test, under a unique prefix. On a cluster that outlives the test
/// they are deleted together with this object.
package final class TestBed: Sendable {
    package let settings: KafkaSettings
    package let layout: TopicLayout
    package let admin: AdminClient

    /// The app of most tests.
    package static let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production, .sandbox], teamID: "ABCDE12345",
        keyID: "KEY1234567", types: [])
    /// An app whose update tokens live for three seconds.
    package static let shortTokenApp = {
        var type = ActivityType(name: "FlashAttributes")
        type.updateTokenMilliseconds = 3000
        return App(
            id: "flash", bundleID: "com.example.flash", environments: [.production], teamID: "ABCDE12345",
            keyID: "KEY1234567", types: [type])
    }()
    package static let apps = [app.id: app, shortTokenApp.id: shortTokenApp]

    /// The replicas of each partition, as operators choose them. On a cluster with fewer brokers the topics have one
    /// replica.
    private static let replicationOfCluster = 3

    package init(brokers: [String], lanes: Int) throws {
        settings = KafkaSettings(brokers: brokers)
        admin = try AdminClient(settings: settings, log: .silent, metrics: Metrics())
        let prefix = "test-\(getpid())-\(UInt32.random(in: 0 ... .max))."
        let replicated = TopicLayout(prefix: prefix, lanes: lanes, replication: Self.replicationOfCluster)
        do {
            try replicated.create(on: admin)
            layout = replicated
        } catch let error as TopicNotCreated where error.lacksBrokers {
            layout = TopicLayout(prefix: prefix, lanes: lanes, replication: 1)
            try layout.create(on: admin)
        }
    }

    /// Returns the environment of a stage in this test bed, with its state in a new slot of the directory.
    package func environment(
        under directory: String, sealingKeys: SealingKeys? = nil
    ) throws -> StageEnvironment {
        StageEnvironment(
            cluster: Cluster(settings: settings), layout: layout,
            slot: try ProcessSlot.acquire(under: directory),
            sealingKeys: sealingKeys, catalog: { CatalogSnapshot(apps: Self.apps) })
    }

    /// Whether a consumer group, named without the prefix, has committed all records of these topics, which have a
    /// partition for each lane. False also while the cluster does not answer.
    package func isEverythingRead(by group: String, in topics: [TopicName]) -> Bool {
        let partitions = topics.flatMap { topic in
            (0..<Int32(layout.lanes)).map { TopicPartition(layout.name(of: topic), $0) }
        }
        let lags = try? admin.lag(of: layout.prefix + group, in: partitions)
        return lags?.allSatisfy { $0.recordCount == 0 } ?? false
    }

    /// Deletes every record of these topics, as retention does after an idle time.
    package func expireRecords(of topics: [TopicName]) throws {
        var ends: [TopicPartition: Int64] = [:]
        for topic in topics {
            for partition in 0..<Int32(layout.partitionCount(of: topic)) {
                // In the place of an offset, -1 is the end of the log.
                ends[TopicPartition(layout.name(of: topic), partition)] = -1
            }
        }
        try admin.deleteRecords(before: ends)
    }

    deinit {
        // A cluster of the test may be gone already, and then the deletion would wait for its time limit.
        guard !TestCluster.endsWithTest(settings.brokers) else { return }
        _ = try? admin.deleteTopics(TopicName.allCases.map(layout.name))
    }
}
