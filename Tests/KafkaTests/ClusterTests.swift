import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

// Tests that need real transactions. They run on the embedded broker, or on Apache Kafka at the address in
// FLOTILLA_KAFKA.

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

    deinit { _ = try? admin.deleteTopics([name]) }
}

private func makeTransactionalProducer(_ topic: TestTopic, id: String) throws -> TransactionalProducer {
    try TransactionalProducer(
        settings: settings(topic.cluster), transactionalID: id, name: "test", log: .silent, metrics: Metrics()
    )
}

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
            let asked = Instant.now()
            _ = try #require(consumer.clusterID())
            return Instant.now().seconds(since: asked)
        }
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
        let known = try eventually { (try? admin.describe(topic.name).partitions) == [0, 1, 2] }
        #expect(known)
        let configuration = try admin.configurations(of: [topic.name])[topic.name]
        #expect(configuration?["cleanup.policy"] == "compact")
        #expect(configuration?["retention.ms"] == "3600000")
        let again = try admin.createTopics([
            NewTopic(name: topic.name, partitionCount: 3, replicationFactor: 1)
        ])
        #expect(again.map(\.code) == [.topicExists])
        #expect(try admin.deleteTopics([topic.name]).map(\.code) == [.none])
        let gone = try eventually {
            do { return try !admin.topics().contains { $0.name == topic.name } } catch { return false }
        }
        #expect(gone)
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
        let early = try #require(member.captureGroupMetadata(forEpoch: member.epoch))
        try producer.sendOffsets([OffsetToCommit(partition: first, offset: 4, metadata: "early")], for: early)
        try producer.abort()
        #expect(try member.committedOffsets(of: [first]).map(\.offset) == [nil])

        try producer.begin()
        for index in 0..<10 { #expect(send("\(index)", to: out, by: producer) == .queued) }
        let late = try #require(member.captureGroupMetadata(forEpoch: member.epoch))
        try producer.sendOffsets([OffsetToCommit(partition: first, offset: 7, metadata: "late")], for: late)
        try producer.commit()
        #expect(try member.committedOffsets(of: [first]).map(\.offset) == [7])
        #expect(try member.committedOffsets(of: [first]).map(\.metadata) == ["late"])

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
        var dead: TransactionalProducer? = try makeTransactionalProducer(topic, id: id)
        try dead!.initialize()
        try dead!.begin()
        let lost = try dead!.topic(named: topic.name)
        #expect(send("never committed", to: lost, by: dead!) == .queued)
        let sent = try eventually {
            dead!.pollEvents()
            return dead!.outstandingRecords == 0
        }
        #expect(sent)
        dead = nil

        let producer = try makeTransactionalProducer(topic, id: id)
        let out = try producer.topic(named: topic.name)
        let start = Instant.now()
        try producer.initialize()
        try producer.begin()
        #expect(send("alive", to: out, by: producer) == .queued)
        try producer.commit()
        #expect(try makeConsumer(topic).read(atLeast: 1).compactMap(\.value) == ["alive"])
        #expect(Instant.now().milliseconds(since: start) < TransactionalProducer.transactionMillisecondsMax)
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
        let again = try newer.topic(named: topic.name)
        try newer.begin()
        #expect(send("new", to: again, by: newer) == .queued)
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
        let captured = try #require(zombie.captureGroupMetadata(forEpoch: zombie.epoch))
        try producer.begin()
        #expect(send("stale", to: out, by: producer) == .queued)
        // The replacement process has the same static id.
        let heir = try makeConsumer(topic, group: group, instance: "flotilla.test.1.0")
        #expect(try join(heir).count == 2)
        let failure = #expect(throws: TransactionFailure.self) {
            try producer.sendOffsets(
                [OffsetToCommit(partition: TopicPartition(topic.name, 0), offset: 1)], for: captured)
        }
        #expect(failure?.advice == .abortAndDiscard)
        try producer.abort()
        #expect(try heir.committedOffsets(of: [TopicPartition(topic.name, 0)]).map(\.offset) == [nil])
        #expect(heir.close())
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
        let base = Int64(now.tv_sec) * 1000 - 10 * hour
        for index in 0..<5 {
            let time = base + Int64(index) * hour
            #expect(
                producer.send(to: out, partition: 0, key: nil, value: nil, tag: 0, timestamp: time)
                    == .queued)
            #expect(producer.flush(withinMilliseconds: 10_000, into: &deliveries) == 0)
        }
        let first = TopicPartition(topic.name, 0)
        #expect(try topic.admin.offsets(atMilliseconds: base + 2 * hour, in: [first]) == [first: 2])
        #expect(try topic.admin.offsets(atMilliseconds: base + 2 * hour + 1, in: [first]) == [first: 3])
        #expect(try topic.admin.offsets(atMilliseconds: base + 9 * hour, in: [first]) == [first: nil])
    }
}

/// If nothing wakes it, the library fetches one megabyte a second and needs twenty seconds.
@Test func `a reader that is faster than the fetch-ahead does not wait for it`() async throws {
    try await onThread {
        let topic = try TestTopic(partitions: 1)
        let producer = try Producer(
            settings: settings(topic.cluster), name: "test", log: .silent, metrics: Metrics())
        let out = try producer.topic(named: topic.name)
        let value = String(repeating: "x", count: 64_000)
        var deliveries: [Delivery] = []
        for index in 0..<330 {
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
        var read = 0
        let isRead = try eventually(within: 15_000) {
            _ = consumer.poll(into: &batch, waitMilliseconds: 20)
            read += batch.count
            return read == 330
        }
        #expect(isRead, "\(read) records were read")
        #expect(consumer.close())
    }
}
