import Kafka
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

/// A transaction that writes to a partition which takes no records: below its minimum of replicas, or without a
/// leader. As on Apache Kafka, the transaction then cannot even be aborted until the partition is back.
@Suite struct UnavailablePartitionTests {
    private static let sourceTopic = "in"
    private static let outputTopic = "out"

    /// A runner on a cluster whose partitions a test makes unavailable.
    private struct Fixture {
        let unavailable = UnavailablePartitions()
        let cluster: TestCluster
        let settings: KafkaSettings
        let consumer: Consumer
        let transaction: TransactionRunner

        init() throws {
            cluster = try TestCluster(injecting: unavailable)
            let settings = KafkaSettings(brokers: cluster.brokers)
            self.settings = settings
            let admin = try AdminClient(settings: settings, log: .silent, metrics: Metrics())
            _ = try admin.createTopics(
                [sourceTopic, outputTopic].map {
                    NewTopic(name: $0, partitionCount: 3, replicationFactor: 1)
                })
            consumer = try Consumer(
                settings: settings, options: ConsumerOptions(membership: .manual), name: "test", log: .silent,
                metrics: Metrics())
            transaction = TransactionRunner(topics: [outputTopic], log: .silent) { id in
                try TransactionalProducer(
                    settings: settings, transactionalID: "test.\(id)", name: "test", log: .silent,
                    metrics: Metrics())
            }
        }

        /// Makes the transaction ready to run.
        func prepare() throws {
            let problem = try transaction.prepare(withinMilliseconds: 15_000)
            try #require(problem == nil)
        }

        /// Runs a transaction with one record in each of these partitions.
        func write(_ value: String, to partitions: [Int32]) throws -> TransactionRunner.TransactionOutcome {
            try prepare()
            let group = try #require(consumer.captureGroupMetadata(forEpoch: consumer.epoch))
            let offset = OffsetToCommit(partition: TopicPartition(sourceTopic, 0), offset: 1)
            let value = Array(value.utf8)
            return try transaction.run(
                committing: [offset], for: group, onStep: { _ in },
                send: { producer, topics in
                    partitions.allSatisfy {
                        producer.send(to: topics[0], partition: $0, key: nil, value: value.span) == .queued
                    }
                })
        }

        /// Returns the committed values of a partition.
        func values(of partition: Int32) throws -> [String] {
            let reader = try Consumer(
                settings: settings, options: ConsumerOptions(membership: .manual), name: "reader",
                log: .silent, metrics: Metrics())
            defer { _ = reader.close() }
            try reader.assign(
                startingAt: [
                    PartitionStart(
                        partition: TopicPartition(outputTopic, partition), position: .beginning)
                ])
            var batch = RecordBatch()
            var values: [String] = []
            let hasEnded = try eventually(within: 20_000) {
                let events = reader.poll(into: &batch, waitMilliseconds: 20)
                for index in 0..<batch.count {
                    let value = [UInt8](copying: batch[index].value) ?? []
                    values.append(String(decoding: value, as: UTF8.self))
                }
                return events.contains { if case .reachedEnd = $0 { true } else { false } }
            }
            #expect(hasEnded)
            return values
        }
    }

    @Test(arguments: [true, false])
    func `the other partitions are written while one takes no records`(hasLeader: Bool) async throws {
        try await onThread {
            let fixture = try Fixture()
            let unavailable = TopicPartition(Self.outputTopic, 1)
            #expect(try fixture.write("first", to: [0, 1, 2]) == .committed)
            fixture.unavailable.refuse(Self.outputTopic, partition: 1, hasLeader: hasLeader)
            let startedAt = Instant.now()
            #expect(try fixture.write("lost", to: [0, 1, 2]) == .unavailable([unavailable]))
            let failedAfterMilliseconds = Instant.now().milliseconds(since: startedAt)
            #expect(failedAfterMilliseconds < 5000, "a loop must poll its group")
            #expect(fixture.transaction.unavailablePartitions == [unavailable])
            for index in 0..<3 { #expect(try fixture.write("other \(index)", to: [0, 2]) == .committed) }
            // Readers of the other partitions do not wait for the transaction that cannot end.
            #expect(try fixture.values(of: 0) == ["first", "other 0", "other 1", "other 2"])
            let secondStartedAt = Instant.now()
            #expect(try fixture.write("lost", to: [1]) == .unavailable([unavailable]))
            #expect(
                Instant.now().milliseconds(since: secondStartedAt) < 1500,
                "a known partition is refused at once")

            fixture.unavailable.acceptAll()
            var recovered: Set<TopicPartition> = []
            let isBack = try eventually(within: 30_000) {
                recovered.formUnion(try fixture.transaction.recoverPartitions(at: .now()))
                return !recovered.isEmpty
            }
            #expect(isBack && recovered == [unavailable])
            #expect(fixture.transaction.isReady, "the usual id is ready at once")
            #expect(try fixture.write("last", to: [0, 1, 2]) == .committed)
            #expect(try fixture.values(of: 1) == ["first", "last"])
            #expect(
                try fixture.values(of: 2) == ["first", "other 0", "other 1", "other 2", "last"])
        }
    }

    @Test func `an id stays stalled while its transaction cannot end`() async throws {
        try await onThread {
            let fixture = try Fixture()
            #expect(try fixture.write("first", to: [0, 1]) == .committed)
            fixture.unavailable.refuse(Self.outputTopic, partition: 1)
            #expect(
                try fixture.write("lost", to: [0, 1]) == .unavailable([TopicPartition(Self.outputTopic, 1)]))
            let startedAt = Instant.now()
            let hasRecovered = try eventually(within: 3000) {
                try !fixture.transaction.recoverPartitions(at: .now()).isEmpty
            }
            #expect(!hasRecovered, "after \(Instant.now().milliseconds(since: startedAt)) ms")
            #expect(try fixture.write("other", to: [0]) == .committed)
        }
    }
}
