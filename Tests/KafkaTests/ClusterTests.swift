import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

// Tests of the clients that need real transactions or topics, which the mock cluster does not have. They run on the
// embedded broker, or on Apache Kafka at the address in FLOTILLA_KAFKA.

private func settings(_ cluster: TestCluster) -> KafkaSettings { KafkaSettings(brokers: cluster.brokers) }

/// Returns a name that no other test uses.
private func uniqueName(_ name: String) -> String { "\(name)-\(getpid())-\(UInt32.random(in: 0 ... .max))" }

/// A topic for one test, deleted afterwards.
private final class TestTopic {
    let name = uniqueName("test")
    let cluster: TestCluster
    let admin: AdminClient

    init(partitions: Int = 2, configuration: [String: String] = [:]) throws {
        cluster = try TestCluster()
        admin = try AdminClient(settings: settings(cluster), log: .silent, metrics: Metrics())
        let outcomes = try admin.createTopics([
            NewTopic(
                name: name, partitionCount: partitions, replicationFactor: 1, configuration: configuration)
        ])
        try #require(outcomes.map(\.code) == [KafkaErrorCode.none])
        try admin.waitForLeaders(of: [name], withinMilliseconds: 30_000)
    }

    deinit {
        // The topics of an embedded broker end with it.
        guard !TestCluster.endsWithTest(cluster.brokers) else { return }
        _ = try? admin.deleteTopics([name])
    }
}

private func makeTransactionalProducer(_ topic: TestTopic, id: String) throws -> TransactionalProducer {
    try TransactionalProducer(
        settings: settings(topic.cluster), transactionalID: id, name: "test", log: .silent, metrics: Metrics()
    )
}

/// Makes a member of a group, or without a group a reader of both partitions from their beginnings.
private func makeConsumer(
    _ topic: TestTopic, group: String? = nil, instance: String? = nil, readsOpenTransactions: Bool = false
) throws -> Consumer {
    var options = ConsumerOptions(
        membership: group.map { .group($0, instanceID: instance, topics: [topic.name]) } ?? .manual)
    options.readsOpenTransactions = readsOpenTransactions
    options.sessionMilliseconds = 6000
    let consumer = try Consumer(
        settings: settings(topic.cluster), options: options, name: "test", log: .silent, metrics: Metrics())
    if group == nil {
        try consumer.assign(
            startingAt: (0..<2).map {
                PartitionStart(partition: TopicPartition(topic.name, $0), position: .beginning)
            })
    }
    return consumer
}

/// Waits until partitions are offered, and reads them from their committed offsets.
private func join(_ consumer: Consumer) throws -> [TopicPartition] {
    var batch = RecordBatch()
    var assigned: [TopicPartition] = []
    _ = try eventually(within: 30_000) {
        for event in consumer.poll(into: &batch, waitMilliseconds: 20) {
            if case .offered(let partitions) = event {
                try consumer.assignFromCommittedOffsets(partitions)
                assigned = partitions
            }
            if case .revoked = event { try consumer.release() }
        }
        return !assigned.isEmpty
    }
    return assigned
}

/// Sends a value to the first partition of a topic.
private func send(_ value: String, to topic: Topic, by producer: TransactionalProducer) -> SendResult {
    let value = Array(value.utf8)
    return producer.send(to: topic, partition: 0, key: nil, value: value.span)
}

/// If the first metadata request does not connect, the library connects by itself once a second. Some of
/// thirty clients would then wait that long.
@Test func `a new client gets the cluster's id as soon as it can connect`() async throws {
    try await onThread {
        let cluster = try TestCluster()
        let seconds = try (0..<30).map { _ in
            let consumer = try Consumer(
                settings: settings(cluster), options: ConsumerOptions(membership: .manual), name: "test",
                log: .silent, metrics: Metrics())
            let startedAt = Instant.now()
            _ = try #require(consumer.clusterID())
            return Instant.now().seconds(since: startedAt)
        }
        // One client may be slow on a busy machine.
        #expect(seconds.count { $0 > 0.7 } <= 1, "\(seconds)")
    }
}

@Test func `topics are created with their settings, described, refused a second time, and deleted`()
    async throws
{
    try await onThread {
        let topic = try TestTopic(
            partitions: 3, configuration: ["cleanup.policy": "compact", "retention.ms": "3600000"])
        let admin = topic.admin
        let isDescribed = try eventually { (try? admin.describe(topic.name).partitions) == [0, 1, 2] }
        #expect(isDescribed)
        let configuration = try admin.configurations(of: [topic.name])[topic.name]
        #expect(configuration?["cleanup.policy"] == "compact")
        #expect(configuration?["retention.ms"] == "3600000")
        let secondCreation = try admin.createTopics([
            NewTopic(name: topic.name, partitionCount: 3, replicationFactor: 1)
        ])
        #expect(secondCreation.map(\.code) == [.topicExists])
        #expect(try admin.deleteTopics([topic.name]).map(\.code) == [.none])
        let isDeleted = try eventually {
            do { return try !admin.topics().contains { $0.name == topic.name } } catch { return false }
        }
        #expect(isDeleted)
    }
}

@Test func `a reader sees a committed transaction with its offsets, but no aborted one`() async throws {
    try await onThread {
        let topic = try TestTopic()
        let group = uniqueName("group")
        let member = try makeConsumer(topic, group: group)
        #expect(try join(member).count == 2)
        let producer = try makeTransactionalProducer(topic, id: uniqueName("id"))
        let out = try producer.topic(named: topic.name)
        try producer.initialize()
        try producer.connectToLeaders(of: [out])
        let first = TopicPartition(topic.name, 0)

        try producer.begin()
        for index in 0..<10 { #expect(send("aborted \(index)", to: out, by: producer) == .queued) }
        let abortedMembership = try #require(member.captureGroupMetadata(forEpoch: member.epoch))
        try producer.sendOffsets(
            [OffsetToCommit(partition: first, offset: 4, metadata: "aborted")], for: abortedMembership)
        try producer.abort()
        #expect(try member.committedOffsets(of: [first]).map(\.offset) == [nil])

        try producer.begin()
        for index in 0..<10 { #expect(send("\(index)", to: out, by: producer) == .queued) }
        let committedMembership = try #require(member.captureGroupMetadata(forEpoch: member.epoch))
        try producer.sendOffsets(
            [OffsetToCommit(partition: first, offset: 7, metadata: "committed")], for: committedMembership)
        try producer.commit()
        #expect(try member.committedOffsets(of: [first]).map(\.offset) == [7])
        #expect(try member.committedOffsets(of: [first]).map(\.metadata) == ["committed"])

        let committed = try makeConsumer(topic).read(atLeast: 10)
        #expect(committed.compactMap(\.value) == (0..<10).map { "\($0)" })
        #expect(try topic.admin.committedOffsets(by: group, in: [first]).map(\.offset) == [7])
        #expect(try topic.admin.groupNames().contains(group))
        #expect(member.close())
    }
}

@Test func `records behind an open transaction wait until the next producer with its id releases them`()
    async throws
{
    try await onThread {
        let topic = try TestTopic()
        let id = uniqueName("id")
        // The first producer ends with an open transaction.
        var abandoned: TransactionalProducer? = try makeTransactionalProducer(topic, id: id)
        try abandoned!.initialize()
        try abandoned!.begin()
        let abandonedOutput = try abandoned!.topic(named: topic.name)
        #expect(send("never committed", to: abandonedOutput, by: abandoned!) == .queued)
        let isSent = try eventually {
            abandoned!.pollEvents()
            return abandoned!.outstandingRecords == 0
        }
        #expect(isSent)
        abandoned = nil

        let producer = try makeTransactionalProducer(topic, id: id)
        let out = try producer.topic(named: topic.name)
        let startedAt = Instant.now()
        try producer.initialize()
        try producer.begin()
        #expect(send("alive", to: out, by: producer) == .queued)
        try producer.commit()
        #expect(try makeConsumer(topic).read(atLeast: 1).compactMap(\.value) == ["alive"])
        // Otherwise the records would wait until the transaction has timed out.
        #expect(
            Instant.now().milliseconds(since: startedAt) < TransactionalProducer.transactionMillisecondsMax)
    }
}

@Test func `the older of two producers with one id is fenced`() async throws {
    try await onThread {
        let topic = try TestTopic()
        let id = uniqueName("id")
        let older = try makeTransactionalProducer(topic, id: id)
        let out = try older.topic(named: topic.name)
        try older.initialize()
        try older.begin()
        #expect(send("old", to: out, by: older) == .queued)
        let newer = try makeTransactionalProducer(topic, id: id)
        try newer.initialize()
        var failure = #expect(throws: TransactionFailure.self) { try older.commit() }
        // If a partition's leader is the first to refuse it, the library assumes that only the transaction is
        // lost.
        if failure?.advice == .abortAndRetry {
            failure = #expect(throws: TransactionFailure.self) {
                try older.abort()
                try older.begin()
                #expect(send("old", to: out, by: older) == .queued)
                try older.commit()
            }
        }
        #expect(failure?.advice == .replaceProducer)
        let newerOutput = try newer.topic(named: topic.name)
        try newer.begin()
        #expect(send("new", to: newerOutput, by: newer) == .queued)
        try newer.commit()
        #expect(try makeConsumer(topic).read(atLeast: 1).compactMap(\.value) == ["new"])
    }
}

@Test func `work of an older membership cannot be committed`() async throws {
    try await onThread {
        let topic = try TestTopic()
        let group = uniqueName("group")
        let zombie = try makeConsumer(topic, group: group, instance: "flotilla.test.1.0")
        #expect(try join(zombie).count == 2)
        let producer = try makeTransactionalProducer(topic, id: uniqueName("id"))
        let out = try producer.topic(named: topic.name)
        try producer.initialize()
        let oldMembership = try #require(zombie.captureGroupMetadata(forEpoch: zombie.epoch))
        try producer.begin()
        #expect(send("stale", to: out, by: producer) == .queued)
        // The replacement process has the same static id.
        let replacement = try makeConsumer(topic, group: group, instance: "flotilla.test.1.0")
        #expect(try join(replacement).count == 2)
        let failure = #expect(throws: TransactionFailure.self) {
            try producer.sendOffsets(
                [OffsetToCommit(partition: TopicPartition(topic.name, 0), offset: 1)], for: oldMembership)
        }
        #expect(failure?.advice == .abortAndDiscard)
        try producer.abort()
        #expect(try replacement.committedOffsets(of: [TopicPartition(topic.name, 0)]).map(\.offset) == [nil])
        #expect(replacement.close())
    }
}

@Test func `an offset is found by its time`() async throws {
    try await onThread {
        let topic = try TestTopic()
        let producer = try Producer(
            settings: settings(topic.cluster), name: "test", log: .silent, metrics: Metrics())
        let out = try producer.topic(named: topic.name)
        var deliveries: [Delivery] = []
        let hour: Int64 = 3_600_000
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // Five records, one an hour, of which the first is ten hours old.
        let firstTime = Int64(now.tv_sec) * 1000 - 10 * hour
        for index in 0..<5 {
            let time = firstTime + Int64(index) * hour
            #expect(
                producer.send(to: out, partition: 0, key: nil, value: nil, tag: 0, timestamp: time)
                    == .queued)
            #expect(producer.flush(withinMilliseconds: 10_000, into: &deliveries) == 0)
        }
        let first = TopicPartition(topic.name, 0)
        #expect(try topic.admin.offsets(atMilliseconds: firstTime + 2 * hour, in: [first]) == [first: 2])
        #expect(try topic.admin.offsets(atMilliseconds: firstTime + 2 * hour + 1, in: [first]) == [first: 3])
        #expect(try topic.admin.offsets(atMilliseconds: firstTime + 9 * hour, in: [first]) == [first: nil])
    }
}

/// If nothing wakes it, the library fetches one megabyte a second and needs twenty seconds.
@Test func `a reader that is faster than the fetch-ahead does not wait for it`() async throws {
    try await onThread {
        let topic = try TestTopic(partitions: 1)
        let producer = try Producer(
            settings: settings(topic.cluster), name: "test", log: .silent, metrics: Metrics())
        let out = try producer.topic(named: topic.name)
        // Twenty megabytes, forty times what the reader may fetch ahead.
        let value = String(repeating: "x", count: 64_000)
        let recordCount = 330
        var deliveries: [Delivery] = []
        for index in 0..<recordCount {
            #expect(
                producer.put(key: "\(index)", value: value, to: out, partition: 0, collecting: &deliveries)
                    == .queued)
        }
        #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
        var options = ConsumerOptions(membership: .manual)
        options.prefetchKibibytesMax = 512
        let consumer = try Consumer(
            settings: settings(topic.cluster), options: options, name: "test", log: .silent,
            metrics: Metrics())
        try consumer.assign(startingAt: [
            PartitionStart(partition: TopicPartition(topic.name, 0), position: .beginning)
        ])
        var batch = RecordBatch()
        var readCount = 0
        let areAllRead = try eventually(within: 15_000) {
            _ = consumer.poll(into: &batch, waitMilliseconds: 20)
            readCount += batch.count
            return readCount == recordCount
        }
        #expect(areAllRead, "\(readCount) records were read")
        #expect(consumer.close())
    }
}
