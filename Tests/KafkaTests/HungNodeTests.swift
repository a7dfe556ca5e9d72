import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

/// Returns a producer with the product's settings, because their time limits are the subject.
private func productProducer(on cluster: MockCluster) throws -> Producer {
    var options = ProducerOptions()
    // A limit for records must not be the reason that a client leaves the node.
    options.deliveryMillisecondsMax = 60_000
    return try Producer(
        settings: KafkaSettings(brokers: cluster.brokers), options: options, name: "test", log: .silent,
        metrics: Metrics())
}

/// Makes node 2 or 3 the leader of each partition.
private func moveLeaders(of cluster: MockCluster) {
    for partition in 0..<Int32(4) {
        cluster.setLeader(ofTopic: "jobs", partition: partition, broker: partition % 2 + 2)
    }
}

/// A node that accepts connections and answers nothing, beside nodes that work. Clients must leave it within seconds. The
/// test moves the leaders of its partitions, as Kafka does.
@Suite struct HungNodeTests {
    /// About as long as Kafka itself needs for new leaders.
    private static let limitMilliseconds = 10_000
    /// A reader needs longer. It leaves the node after 6 s, and a reconnect to the node can take 3 s more before
    /// the reader asks another node for the leaders.
    private static let readerLimitMilliseconds = 15_000
    /// Kafka moves the leaders of a node at this time after its last answer.
    private static let moveMilliseconds = 4000

    @Test func `records of every partition are stored again soon after a node hangs`() async throws {
        try await onThread {
            let cluster = try makeCluster()
            for partition in 0..<Int32(4) {
                cluster.setLeader(ofTopic: "jobs", partition: partition, broker: partition % 3 + 1)
            }
            let producer = try productProducer(on: cluster)
            let topic = try producer.topic(named: "jobs")
            var deliveries: [Delivery] = []
            for partition in 0..<Int32(4) {
                _ = producer.put(
                    key: nil, value: "before", to: topic, partition: partition, collecting: &deliveries)
            }
            #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
            cluster.stopAnswering(broker: 1)
            let hungAt = Instant.now()
            for partition in 0..<Int32(4) {
                _ = producer.put(
                    key: nil, value: "during", to: topic, partition: partition, collecting: &deliveries)
            }
            var mustMove = true
            let isStored = try eventually(within: Self.limitMilliseconds) {
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 20)
                if mustMove, Instant.now().milliseconds(since: hungAt) >= Self.moveMilliseconds {
                    mustMove = false
                    moveLeaders(of: cluster)
                }
                return producer.outstandingRecords == 0
            }
            #expect(isStored)
            #expect(deliveries.count == 8 && deliveries.allSatisfy { $0.isStored })
        }
    }

    @Test func `a query asks all leaders at the same time, so that hanging nodes cost one limit`()
        async throws
    {
        try await onThread {
            let cluster = try makeCluster(brokers: 5, partitions: 5)
            for partition in 0..<Int32(5) {
                cluster.setLeader(ofTopic: "jobs", partition: partition, broker: partition + 1)
            }
            let producer = try productProducer(on: cluster)
            _ = try producer.watermarks(of: TopicPartition("jobs", 4))
            for node in 1...Int32(4) { cluster.stopAnswering(.listOffsets, onBroker: node) }
            let askedAt = Instant.now()
            let id = producer.submit(.watermarks((0..<5).map { TopicPartition("jobs", $0) }))
            var (answered, failed): ([Int32], [Int32]) = ([], [])
            var millisecondsOfAnswer = 0
            #expect(
                try eventually {
                    for (resultID, result) in producer.takeQueryResults() where resultID == id {
                        switch result {
                        case .watermarks(let watermarks):
                            answered += watermarks.keys.map(\.partition)
                            millisecondsOfAnswer = Instant.now().milliseconds(since: askedAt)
                        case .failed(let partitions, _): failed += partitions.map(\.partition)
                        case .committedOffsets, .firstRecords: break
                        }
                    }
                    pause(microseconds: 1000)
                    return answered.count + failed.count == 5
                })
            #expect(answered == [4])
            #expect(millisecondsOfAnswer < KafkaClient.queryMillisecondsMax)
            #expect(failed.sorted() == [0, 1, 2, 3])
            #expect(Instant.now().milliseconds(since: askedAt) < 2 * KafkaClient.queryMillisecondsMax)
        }
    }

    /// A stage's loop makes these calls with a limit of a second. If a call took much longer, the loop would not poll
    /// its consumer in time, and would lose its partitions.
    @Test func `a call that needs the answer of a hanging leader ends at its limit`() async throws {
        try await onThread {
            let cluster = try makeCluster(brokers: 2, partitions: 2)
            for partition in 0..<Int32(2) {
                cluster.setLeader(ofTopic: "jobs", partition: partition, broker: partition + 1)
            }
            let transactional = try TransactionalProducer(
                settings: KafkaSettings(brokers: cluster.brokers), transactionalID: "hanging", name: "test",
                log: .silent, metrics: Metrics())
            let topic = try transactional.topic(named: "jobs")
            try transactional.connectToLeaders(of: [topic])
            let producer = try productProducer(on: cluster)
            _ = try producer.watermarks(of: TopicPartition("jobs", 1))
            cluster.stopAnswering(broker: 1)
            // The library itself would wait for 6 s until it leaves the node.
            let toleratedMilliseconds = 2500
            var startedAt = Instant.now()
            #expect(throws: KafkaError.self) {
                try producer.watermarks(of: TopicPartition("jobs", 0), withinMilliseconds: 1000)
            }
            #expect(Instant.now().milliseconds(since: startedAt) < toleratedMilliseconds)
            startedAt = Instant.now()
            #expect(throws: KafkaError.self) {
                try transactional.connectToLeaders(of: [topic], withinMilliseconds: 1000)
            }
            #expect(Instant.now().milliseconds(since: startedAt) < toleratedMilliseconds)
        }
    }

    /// A producer asks any one node for its identity, and sends nothing to any node before it has one.
    @Test func `a node that gives a producer no identity delays it only for seconds`() async throws {
        try await onThread {
            let cluster = try makeCluster(brokers: 1, partitions: 1)
            cluster.stopAnswering(.initProducerID, onBroker: 1)
            let producer = try productProducer(on: cluster)
            let topic = try producer.topic(named: "jobs")
            var deliveries: [Delivery] = []
            #expect(
                producer.put(key: nil, value: "0", to: topic, partition: 0, collecting: &deliveries)
                    == .queued)
            #expect(producer.flush(withinMilliseconds: Self.limitMilliseconds, into: &deliveries) == 0)
            #expect(deliveries.map(\.isStored) == [true])
        }
    }

    @Test func `a reader goes on at the next leader when a node hangs`() async throws {
        try await onThread {
            let cluster = try makeCluster()
            for partition in 0..<Int32(4) {
                cluster.setLeader(ofTopic: "jobs", partition: partition, broker: 1)
            }
            var options = ConsumerOptions(membership: .manual)
            options.readsOpenTransactions = true
            let reader = try Consumer(
                settings: KafkaSettings(brokers: cluster.brokers), options: options, name: "test",
                log: .silent,
                metrics: Metrics())
            try reader.assign(
                startingAt: (0..<4).map {
                    PartitionStart(partition: TopicPartition("jobs", $0), position: .beginning)
                })
            var batch = RecordBatch()
            var records: [RecordCopy] = []
            var eventCount = 0
            let hasReachedEnds = try eventually {
                eventCount += reader.read(&batch, into: &records).count
                return eventCount >= 4
            }
            #expect(hasReachedEnds)
            cluster.stopAnswering(broker: 1)
            moveLeaders(of: cluster)
            // The writer is not the subject. Through the other nodes it never asks the hung one for its
            // identity.
            let producer = try Producer(
                settings: KafkaSettings(brokers: Array(cluster.brokers.dropFirst())), name: "writer",
                log: .silent,
                metrics: Metrics())
            let topic = try producer.topic(named: "jobs")
            var deliveries: [Delivery] = []
            for partition in 0..<Int32(4) {
                _ = producer.put(
                    key: nil, value: "after", to: topic, partition: partition, collecting: &deliveries)
            }
            let isRead = try eventually(within: Self.readerLimitMilliseconds) {
                _ = producer.collectDeliveries(into: &deliveries)
                _ = reader.read(&batch, into: &records)
                return records.count == 4
            }
            #expect(isRead)
        }
    }

    @Test func `a query of the ends of a partition keeps its limit when the leader hangs`() async throws {
        try await onThread {
            let cluster = try makeCluster(brokers: 1, partitions: 1)
            let producer = try productProducer(on: cluster)
            let partition = TopicPartition("jobs", 0)
            #expect(try producer.watermarks(of: partition, withinMilliseconds: 5000).high == 0)
            cluster.stopAnswering(broker: 1)
            let askedAt = Instant.now()
            #expect(throws: KafkaError.self) {
                try producer.watermarks(of: partition, withinMilliseconds: 500)
            }
            // The library would wait for 6 s until it leaves the node.
            #expect(Instant.now().milliseconds(since: askedAt) < 3000)
        }
    }

    /// The library refuses a limit for answers (`socket.timeout.ms`) that exceeds the limit of the transaction.
    @Test func `a transaction of a short limit has a shorter limit for answers`() throws {
        let cluster = try makeCluster(brokers: 1)
        let producer = try TransactionalProducer(
            settings: KafkaSettings(cluster), transactionalID: "short", timeoutMilliseconds: 2000,
            name: "test", log: .silent, metrics: Metrics())
        let answerMilliseconds = KafkaLibraryTestFunctions.property(
            named: "socket.timeout.ms", of: producer.client.pointer)
        #expect(try #require(Int(answerMilliseconds)) < 2000)
    }
}
