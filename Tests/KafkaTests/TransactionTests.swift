import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

// Transactions on the mock cluster, with the errors that a test injects. A failure of a transaction has an advice: to call
// again, to abort and retry or discard the work, or to replace the producer.

private func makeTransactionalProducer(
    _ cluster: MockCluster, id: String = "flotilla.planner.1.0"
) throws -> TransactionalProducer {
    try TransactionalProducer(
        settings: KafkaSettings(cluster), transactionalID: id, name: "test", log: .silent, metrics: Metrics())
}

/// Returns a group member with partitions, for its metadata.
private func makeMember(_ cluster: MockCluster) throws -> Consumer {
    var options = ConsumerOptions(membership: .group("planner", instanceID: nil, topics: ["jobs"]))
    options.sessionMilliseconds = 6000
    let consumer = try Consumer(
        settings: KafkaSettings(cluster), options: options, name: "test", log: .silent, metrics: Metrics())
    var batch = RecordBatch()
    var isMember = false
    _ = try eventually {
        for case .offered(let partitions) in consumer.poll(into: &batch, waitMilliseconds: 20) {
            try consumer.assign(
                startingAt: partitions.map { PartitionStart(partition: $0, position: .beginning) })
            isMember = true
        }
        return isMember
    }
    try #require(isMember)
    return consumer
}

/// Sends a value to the first partition of a topic.
private func send(_ value: String, to topic: Topic, by producer: TransactionalProducer) -> SendResult {
    let value = Array(value.utf8)
    return producer.send(to: topic, partition: 0, key: nil, value: value.span)
}

@Test func `a transaction sends records and offsets and commits them`() async throws {
    try await onThread {
        let cluster = try makeCluster()
        let producer = try makeTransactionalProducer(cluster)
        let consumer = try makeMember(cluster)
        let topic = try producer.topic(named: "out")
        cluster.createTopic(named: "out", partitions: 2, replication: 3)
        try producer.initialize()
        try producer.connectToLeaders(of: [topic])
        for round in 0..<5 {
            let group = try #require(consumer.captureGroupMetadata(forEpoch: consumer.epoch))
            try producer.begin()
            for index in 0..<100 {
                #expect(send("\(round * 100 + index)", to: topic, by: producer) == .queued)
            }
            let offset = OffsetToCommit(
                partition: TopicPartition("jobs", 0), offset: Int64(round), metadata: "r=1")
            try producer.sendOffsets([offset], for: group)
            try producer.commit()
            #expect(producer.outstandingRecords == 0)
        }
        let values = try makeReader(cluster, topic: "out", partitions: 2).read(atLeast: 500).compactMap(
            \.value)
        #expect(values == (0..<500).map(String.init))
        #expect(consumer.close())
    }
}

/// The body of many records is stored once in memory, and released with the transaction.
@Test func `a shared body lives exactly until its transaction has ended`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let producer = try makeTransactionalProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        try producer.initialize()
        for ending in ["commit", "abort"] {
            try producer.begin()
            weak var bodyInMemory: SharedRecordValue?
            do {
                let bytes = Array("the same for all".utf8)
                let body = SharedRecordValue(copying: bytes.span)
                bodyInMemory = body
                for _ in 0..<50 {
                    var headers = RecordHeaders()
                    headers.add("apns-priority", value: Array("10".utf8).span)
                    let result = producer.send(
                        to: topic, partition: 0, key: bytes.span, body: body, headers: &headers)
                    #expect(result == .queued)
                }
            }
            #expect(bodyInMemory != nil)
            if ending == "commit" { try producer.commit() } else { try producer.abort() }
            #expect(bodyInMemory == nil)
        }
        let records = try makeReader(cluster, partitions: 1).read(atLeast: 50)
        #expect(records.prefix(50).allSatisfy { $0.value == "the same for all" })
    }
}

@Test func `a transient error is retried inside the call`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let producer = try makeTransactionalProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        let consumer = try makeMember(cluster)
        cluster.failNext(.initProducerID, with: .coordinatorLoading, .notCoordinator)
        try producer.initialize()
        cluster.failNext(.addPartitions, with: .concurrentTransactions, .concurrentTransactions)
        cluster.failNext(.addOffsets, with: .coordinatorLoading)
        cluster.failNext(.transactionOffsetCommit, with: .coordinatorLoading)
        cluster.failNext(.endTransaction, with: .coordinatorLoading)
        let group = try #require(consumer.captureGroupMetadata(forEpoch: consumer.epoch))
        try producer.begin()
        #expect(send("x", to: topic, by: producer) == .queued)
        try producer.sendOffsets(
            [OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)], for: group)
        try producer.commit()
        #expect(try makeReader(cluster, partitions: 1).read(atLeast: 1).count == 1)
    }
}

@Test func `an error in a transaction asks for an abort, and the same work then succeeds`()
    async throws
{
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let producer = try makeTransactionalProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        try producer.initialize()
        cluster.failNext(.addPartitions, with: KafkaErrorCode.topicAuthorizationFailed.rawValue)
        try producer.begin()
        #expect(send("x", to: topic, by: producer) == .queued)
        let failure = #expect(throws: TransactionFailure.self) { try producer.commit() }
        #expect(failure?.errorClass == .abortable)
        #expect(failure?.advice == .abortAndRetry)
        try producer.abort()
        try producer.begin()
        #expect(send("x", to: topic, by: producer) == .queued)
        try producer.commit()
    }
}

@Test(arguments: [KafkaErrorCode.fencedInstance, .unknownMember, .illegalGeneration])
func `work is dropped if the partitions were reassigned`(code: KafkaErrorCode) async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let producer = try makeTransactionalProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        let consumer = try makeMember(cluster)
        try producer.initialize()
        let group = try #require(consumer.captureGroupMetadata(forEpoch: consumer.epoch))
        try producer.begin()
        #expect(send("x", to: topic, by: producer) == .queued)
        cluster.failNext(.transactionOffsetCommit, with: code.rawValue)
        let failure = #expect(throws: TransactionFailure.self) {
            try producer.sendOffsets(
                [OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)], for: group)
        }
        #expect(failure?.advice == .abortAndDiscard)
        try producer.abort()
    }
}

@Test(arguments: [KafkaErrorCode.producerFenced, .invalidProducerEpoch])
func `a fenced producer asks for a rebuild, and a new producer continues`(code: KafkaErrorCode) async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        do {
            let producer = try makeTransactionalProducer(cluster)
            let topic = try producer.topic(named: "jobs")
            try producer.initialize()
            try producer.begin()
            #expect(send("x", to: topic, by: producer) == .queued)
            cluster.failNext(.endTransaction, with: code.rawValue)
            let failure = #expect(throws: TransactionFailure.self) { try producer.commit() }
            #expect(failure?.errorClass == .fatal)
            #expect(failure?.advice == .replaceProducer)
            #expect(producer.fatalError?.code.isFencing == true)
            #expect(send("x", to: topic, by: producer) == .unusable(.fatal))
        }
        let producer = try makeTransactionalProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        try producer.initialize()
        try producer.begin()
        #expect(send("y", to: topic, by: producer) == .queued)
        try producer.commit()
    }
}

/// The answer comes later than the limit of the call. A second call could take it for its own answer.
@Test func `a commit with a late answer is left to a new producer at once`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let consumer = try makeMember(cluster)
        var producerCount = 0
        let runner = TransactionRunner(topics: ["jobs"], log: .silent) { _ in
            producerCount += 1
            return try makeTransactionalProducer(cluster, id: "late")
        }
        func runTransaction(_ value: String) throws -> TransactionRunner.TransactionOutcome {
            let group = try #require(consumer.captureGroupMetadata(forEpoch: consumer.epoch))
            return try runner.run(
                committing: [OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)], for: group,
                onStep: { _ in },
                send: { producer, topics in send(value, to: topics[0], by: producer) == .queued })
        }
        #expect(try runner.prepare(withinMilliseconds: 20_000) == nil)
        cluster.stopAnswering(.endTransaction, onBroker: 1)
        let startedAt = Instant.now()
        #expect(try runTransaction("late") == .startOver)
        let milliseconds = Instant.now().milliseconds(since: startedAt)
        // The limit of the call is 2 s. No further call of the lost producer is waited for: neither a commit nor an
        // abort.
        #expect((2000..<2900).contains(milliseconds), "\(milliseconds) ms")
        #expect(!runner.isReady && producerCount == 1)

        #expect(try runner.prepare(withinMilliseconds: 20_000) == nil)
        #expect(try runTransaction("next") == .committed)
        #expect(producerCount == 2)
        #expect(consumer.close())
    }
}

@Test(arguments: [MockCluster.Request.addOffsets, .transactionOffsetCommit])
func `a transaction whose offsets get no answer holds a loop for at most a fifth of its session`(
    request: MockCluster.Request
) async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let consumer = try makeMember(cluster)
        let runner = TransactionRunner(topics: ["jobs"], log: .silent) { _ in
            try makeTransactionalProducer(cluster, id: "silent")
        }
        #expect(try runner.prepare(withinMilliseconds: 20_000) == nil)
        let group = try #require(consumer.captureGroupMetadata(forEpoch: consumer.epoch))
        cluster.stopAnswering(request, onBroker: 1)
        let startedAt = Instant.now()
        let outcome = try runner.run(
            committing: [OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)], for: group,
            onStep: { _ in },
            send: { producer, topics in send("silent", to: topics[0], by: producer) == .queued })
        let milliseconds = Instant.now().milliseconds(since: startedAt)
        #expect(outcome == .startOver)
        #expect(milliseconds < ConsumerOptions.sessionMillisecondsDefault / 5, "\(milliseconds) ms")
        #expect(consumer.close())
    }
}

@Test func `a transaction coordinator that moves stops no transaction`() async throws {
    try await onThread {
        let cluster = try makeCluster()
        let producer = try makeTransactionalProducer(cluster, id: "moving")
        let topic = try producer.topic(named: "jobs")
        cluster.setCoordinator(ofTransaction: "moving", broker: 1)
        try producer.initialize()
        for round in 0..<4 {
            try producer.begin()
            #expect(send("\(round)", to: topic, by: producer) == .queued)
            cluster.setCoordinator(ofTransaction: "moving", broker: Int32(round % 3) + 1)
            try producer.commit()
        }
        let values = try makeReader(cluster, partitions: 1).read(atLeast: 4).compactMap(\.value)
        #expect(values == ["0", "1", "2", "3"])
    }
}

/// Each failed connection makes the library look for another coordinator.
@Test func `a transactional producer connects to its coordinator four times a second`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        func longestPause(with properties: [String: String]) throws -> String {
            var settings = KafkaSettings(brokers: cluster.brokers)
            settings.properties = properties
            let producer = try TransactionalProducer(
                settings: settings, transactionalID: "pauses", name: "test", log: .silent, metrics: Metrics())
            return KafkaLibraryTestFunctions.property(
                named: "reconnect.backoff.max.ms", of: producer.client.pointer)
        }
        #expect(try longestPause(with: [:]) == "250")
        #expect(try longestPause(with: ["reconnect.backoff.max.ms": "700"]) == "700")
    }
}

/// The library itself asks every 500 ms. After the death of a node, a loop decides nothing until the coordinator has
/// ended its last transaction.
@Test func `a coordinator that still ends the last transaction is asked again ten times a second`()
    async throws
{
    try await onThread {
        let cluster = try makeCluster()
        let producer = try makeTransactionalProducer(cluster)
        let refusals = 12
        for _ in 0..<refusals { cluster.failNext(.initProducerID, with: .concurrentTransactions) }
        let startedAt = Instant.now()
        try producer.initialize()
        #expect(Instant.now().milliseconds(since: startedAt) < refusals * 500 / 2)
    }
}

@Test func `starting transactions without a cluster ends at its limit and may be repeated`()
    async throws
{
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let producer = try makeTransactionalProducer(cluster)
        cluster.takeDown(broker: 1)
        let start = Instant.now()
        let failure = #expect(throws: TransactionFailure.self) {
            try producer.initialize(withinMilliseconds: 500)
        }
        #expect(Instant.now().milliseconds(since: start) < 3000)
        #expect(failure?.advice == .retryCall)
        cluster.bringUp(broker: 1)
        try producer.initialize()
    }
}

@Test func `a full queue in a transaction drains again`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        var options = ProducerOptions()
        options.queueRecordsMax = 50
        let producer = try TransactionalProducer(
            settings: KafkaSettings(cluster), options: options, transactionalID: "full", name: "test",
            log: .silent,
            metrics: Metrics())
        let topic = try producer.topic(named: "jobs")
        try producer.initialize()
        try producer.begin()
        var waits = 0
        for index in 0..<500 {
            while send("\(index)", to: topic, by: producer) == .full {
                waits += 1
                #expect(producer.waitForQueueSpace())
            }
        }
        try producer.commit()
        #expect(waits > 0)
        #expect(try makeReader(cluster, partitions: 1).read(atLeast: 500).count == 500)
    }
}
