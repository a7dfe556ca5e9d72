import Broker
import Glibc
import Kafka
import Lifecycle
import Synchronization
import Telemetry
import Testing

// The embedded broker as a test bed: the faults that it can inject, seen through the client.

/// Returns the values of a topic with one partition.
private func read(_ topic: String, from broker: RunningBroker) throws -> [String] {
    let consumer = try Consumer(
        settings: KafkaSettings(brokers: ["127.0.0.1:\(broker.port)"]),
        options: ConsumerOptions(membership: .manual), name: "test",
        log: .silent, metrics: Metrics())
    defer { _ = consumer.close() }
    try consumer.assign(startingAt: [
        PartitionStart(partition: TopicPartition(topic, 0), position: .beginning)
    ])
    var batch = RecordBatch()
    var values: [String] = []
    _ = try eventually {
        let events = consumer.poll(into: &batch, waitMilliseconds: 50)
        for index in 0..<batch.count {
            if let value = batch[index].value {
                values.append(value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
            }
        }
        return events.contains { if case .reachedEnd = $0 { true } else { false } }
    }
    return values
}

@Test func `a torn transaction commits one partition and aborts the other`() async throws {
    try await onThread {
        var settings = try BrokerSettings.temporary()
        settings.transactionAborts = { topic, _ in topic == "torn" }
        let broker = try RunningBroker(settings: settings)
        defer { broker.stop() }
        let kafka = KafkaSettings(brokers: ["127.0.0.1:\(broker.port)"])
        let admin = try AdminClient(settings: kafka, log: .silent, metrics: Metrics())
        _ = try admin.createTopics(
            ["whole", "torn"].map { NewTopic(name: $0, partitionCount: 1, replicationFactor: 1) })
        let producer = try TransactionalProducer(
            settings: kafka, transactionalID: "tear", name: "test", log: .silent, metrics: Metrics())
        try producer.initialize()
        try producer.begin()
        for name in ["whole", "torn"] {
            let value = Array(name.utf8)
            #expect(
                producer.send(to: try producer.topic(named: name), partition: 0, key: nil, value: value.span)
                    == .queued)
        }
        try producer.commit()
        #expect(try read("whole", from: broker) == ["whole"])
        #expect(try read("torn", from: broker) == [])
    }
}

@Test func `the broker reports a failed file operation and keeps all acknowledged records`()
    async throws
{
    try await onThread {
        let isDiskFull = Atomic<Bool>(false)
        var settings = try BrokerSettings.temporary()
        settings.disk = Disk { operation, path, _ in
            operation == .write && path.contains("/jobs-") && isDiskFull.load(ordering: .relaxed)
                ? .fail(ENOSPC) : nil
        }
        let broker = try RunningBroker(settings: settings)
        defer { broker.stop() }
        let kafka = KafkaSettings(brokers: ["127.0.0.1:\(broker.port)"])
        let admin = try AdminClient(settings: kafka, log: .silent, metrics: Metrics())
        _ = try admin.createTopics([NewTopic(name: "jobs", partitionCount: 1, replicationFactor: 1)])
        let producer = try Producer(settings: kafka, name: "test", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: "jobs")
        var deliveries: [Delivery] = []
        func put(_ text: String) {
            let value = Array(text.utf8)
            #expect(producer.send(to: topic, partition: 0, key: nil, value: value.span, tag: 0) == .queued)
        }
        put("before")
        #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
        isDiskFull.store(true, ordering: .relaxed)
        put("during")
        #expect(
            producer.flush(withinMilliseconds: 300, into: &deliveries) == 1, "the broker retries the write")
        isDiskFull.store(false, ordering: .relaxed)
        #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
        #expect(
            deliveries.count == 2
                && deliveries.allSatisfy {
                    $0.outcome == .stored(offset: 0) || $0.outcome == .stored(offset: 1)
                })
        #expect(try read("jobs", from: broker) == ["before", "during"])
    }
}
