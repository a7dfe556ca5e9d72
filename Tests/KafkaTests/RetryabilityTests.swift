import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

/// Tests of questions that a cluster cannot answer yet, because a topic was created a moment ago. The client must ask
/// again. The seed chooses the delays of the embedded broker (`ClusterDelayModel`).
struct RetryabilityTests {
    private static let seeds: [UInt64] = [1, 2, 3, 4]

    private func makeAdmin(for cluster: TestCluster) throws -> AdminClient {
        try AdminClient(settings: KafkaSettings(brokers: cluster.brokers), log: .silent, metrics: Metrics())
    }

    /// Creates a topic and does not wait for it.
    private func createTopic(_ name: String, by admin: AdminClient) throws {
        let outcomes = try admin.createTopics([NewTopic(name: name, partitionCount: 3, replicationFactor: 1)])
        #expect(outcomes.map(\.code) == [KafkaErrorCode.none])
    }

    @Test(arguments: seeds) func `a topic that was just created is described with its ends`(seed: UInt64)
        async throws
    {
        try await onThread {
            let cluster = try TestCluster(weatherSeed: seed)
            let admin = try makeAdmin(for: cluster)
            try createTopic("t", by: admin)
            #expect(try admin.describe("t").partitions == [0, 1, 2])
            #expect(try admin.watermarks(of: TopicPartition("t", 2)) == Watermarks(low: 0, high: 0))
            #expect(try admin.configurations(of: ["t"])["t"]?["cleanup.policy"] == "delete")
            #expect(try admin.offsets(atMilliseconds: 1, in: [TopicPartition("t", 0)]).count == 1)
        }
    }

    @Test(arguments: seeds) func `no leader refuses a topic after it is usable`(seed: UInt64) async throws {
        try await onThread {
            let cluster = try TestCluster(weatherSeed: seed)
            let admin = try makeAdmin(for: cluster)
            try createTopic("t", by: admin)
            try admin.waitForLeaders(of: ["t"], withinMilliseconds: 30_000)
            #expect(cluster.isServing(topic: "t"))
        }
    }

    @Test(arguments: seeds) func `a stage can begin right after its topics were created`(
        seed: UInt64
    ) async throws {
        try await onThread {
            let cluster = try TestCluster(weatherSeed: seed)
            let settings = KafkaSettings(brokers: cluster.brokers)
            try createTopic("t", by: try makeAdmin(for: cluster))
            let transaction = TransactionRunner(topics: ["t"], log: .silent) { _ in
                try TransactionalProducer(
                    settings: settings, transactionalID: "stage", name: "test", log: .silent,
                    metrics: Metrics())
            }
            #expect(
                try transaction.prepare(withinMilliseconds: TransactionRunner.startMillisecondsMax) == nil)
            #expect(transaction.isReady)
            #expect(cluster.isServing(topic: "t"), "the stage waited for the leaders")
        }
    }

    @Test func `a stage that cannot begin in time names the failed call and its code`() async throws {
        try await onThread {
            let settings = KafkaSettings(brokers: ["127.0.0.1:1"])
            let transaction = TransactionRunner(topics: ["t"], log: .silent) { _ in
                try TransactionalProducer(
                    settings: settings, transactionalID: "stage", name: "test", log: .silent,
                    metrics: Metrics())
            }
            let startedAt = Instant.now()
            let problem = try transaction.prepare(withinMilliseconds: 300)
            #expect((250...10_000).contains(Instant.now().milliseconds(since: startedAt)))
            #expect(problem?.contains("cannot start transactions") == true, "\(problem ?? "")")
            #expect(problem?.contains("_TIMED_OUT") == true, "\(problem ?? "")")
            #expect(!transaction.isReady)
        }
    }

    @Test func `a missing topic is an error after a moment and not after the whole limit`()
        async throws
    {
        try await onThread {
            let cluster = try TestCluster(weatherSeed: nil)
            let admin = try makeAdmin(for: cluster)
            let startedAt = Instant.now()
            let error = #expect(throws: KafkaError.self) {
                try admin.describe("none", withinMilliseconds: 30_000)
            }
            #expect(error?.code.retryability == .untilTopicSettles)
            #expect(error?.description.contains("UNKNOWN") == true, "\(String(describing: error))")
            #expect((1000...15_000).contains(Instant.now().milliseconds(since: startedAt)))
        }
    }

    /// The library looks for an unknown leader only every half second. So a start within 400 ms did not wait for it.
    @Test func `a consumer without a group begins to read at once`() async throws {
        try await onThread {
            let cluster = try TestCluster(weatherSeed: nil)
            let settings = KafkaSettings(brokers: cluster.brokers)
            try createTopic("t", by: try makeAdmin(for: cluster))
            let producer = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
            _ = try producer.storeRecord(
                action: "write", in: producer.topic(named: "t"), key: [1], value: [2])
            var shortestMilliseconds = Int.max
            for _ in 0..<5 {
                let startedAt = Instant.now()
                let consumer = try Consumer(
                    settings: settings, options: ConsumerOptions(membership: .manual), name: "test",
                    log: .silent, metrics: Metrics())
                try consumer.assign(
                    startingAt: (0..<3).map {
                        PartitionStart(partition: TopicPartition("t", $0), position: .beginning)
                    })
                #expect(try consumer.read(atLeast: 1).count == 1)
                shortestMilliseconds = min(
                    shortestMilliseconds, Instant.now().milliseconds(since: startedAt))
                #expect(consumer.close())
            }
            #expect(shortestMilliseconds < 400)
        }
    }
}
