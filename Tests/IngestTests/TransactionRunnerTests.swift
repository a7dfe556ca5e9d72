import Kafka
import KafkaTesting
import Telemetry
import Testing

/// Tests of a transaction whose requests the cluster refuses. The same producer must repeat it.
@Suite struct TransactionRunnerTests {
    /// The step of the transaction that is refused.
    enum Refusal: CaseIterable {
        case partitions, offsetsTopic, offsets, end

        var request: MockCluster.Request {
            switch self {
            case .partitions: .addPartitions
            case .offsetsTopic: .addOffsets
            case .offsets: .transactionOffsetCommit
            case .end: .endTransaction
            }
        }

        var code: KafkaErrorCode {
            switch self {
            case .partitions: .topicAuthorizationFailed
            case .offsetsTopic, .offsets: .groupAuthorizationFailed
            // The code of an error that the cluster cannot name.
            case .end: KafkaErrorCode(rawValue: -1)
            }
        }
    }

    @Test(arguments: Refusal.allCases)
    func `after a refused transaction the same producer repeats the work`(
        refusal: Refusal
    ) throws {
        let cluster = try #require(MockCluster(brokers: 1))
        for topic in ["reports", "installations"] { cluster.createTopic(named: topic, partitions: 1) }
        let settings = KafkaSettings(brokers: cluster.brokers)
        let consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "test", log: .silent,
            metrics: Metrics())
        let transaction = TransactionRunner(topics: ["installations"], log: .silent) { _ in
            try TransactionalProducer(
                settings: settings, transactionalID: "test", name: "test", log: .silent, metrics: Metrics())
        }
        let readinessProblem = try transaction.prepare(withinMilliseconds: 15_000)
        #expect(readinessProblem == nil)
        func run() throws -> TransactionRunner.TransactionOutcome {
            let group = try #require(consumer.captureGroupMetadata(forEpoch: consumer.epoch))
            let offset = OffsetToCommit(partition: TopicPartition("reports", 0), offset: 1)
            let value = Array("x".utf8)
            return try transaction.run(
                committing: [offset], for: group, onStep: { _ in },
                send: { producer, topics in
                    producer.send(to: topics[0], partition: 0, key: nil, value: value.span) == .queued
                })
        }
        let firstOutcome = try run()
        #expect(firstOutcome == .committed)
        cluster.failNext(refusal.request, with: refusal.code.rawValue)
        let refusedOutcome = try run()
        #expect(refusedOutcome == .startOver)
        #expect(transaction.isReady, "the producer did not survive a failed transaction")
        let nextOutcome = try run()
        #expect(nextOutcome == .committed)
    }
}
