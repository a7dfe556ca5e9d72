import KafkaTesting
import Lifecycle
import Synchronization
import Telemetry
import Testing

@testable import Kafka

/// A small stage on an event loop: when a client's descriptor wakes it, it reads the available records in batches, sends
/// them on, and never waits.
private final class ForwardingStage: EventHandler {
    private let consumer: Consumer
    private let producer: Producer
    private let topic: Topic
    private var batch = RecordBatch(recordsMax: 50)
    private var deliveries: [Delivery] = []
    private let stored: Counter

    init(from cluster: MockCluster, on loop: EventLoop, stored: Counter) throws {
        consumer = try makeReader(cluster, partitions: 1)
        producer = try makeProducer(cluster)
        topic = try producer.topic(named: "out")
        self.stored = stored
        try loop.register(consumer.descriptor, for: .readable, handler: self)
        try loop.register(producer.descriptor, for: .readable, handler: self)
    }

    func didBecomeReady(_ readiness: Readiness) {
        _ = consumer.poll(into: &batch)
        for index in 0..<batch.count {
            let record = batch[index]
            let result = producer.send(
                to: topic, partition: 0, key: record.key, value: record.value, tag: UInt64(record.offset))
            if result != .queued { Issue.record("\(result)") }
        }
        _ = producer.collectDeliveries(into: &deliveries)
        stored.add(deliveries.count)
        deliveries.removeAll(keepingCapacity: true)
    }

    func loopWillEnd() {}
}

@Test func `a consumer and a producer share an event loop without blocking`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        cluster.createTopic(named: "out", partitions: 1)
        let loop = try EventLoop(name: "echo")
        let stored = Metrics().counter("flotilla_test_stored_total", help: "Records that came back")
        try loop.start()
        loop.execute {
            do { _ = try ForwardingStage(from: cluster, on: loop, stored: stored) } catch {
                Issue.record("\(error)")
            }
        }
        let producer = try makeProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        var deliveries: [Delivery] = []
        for index in 0..<500 {
            #expect(
                producer.put(key: "\(index)", value: nil, to: topic, partition: 0, collecting: &deliveries)
                    == .queued)
        }
        #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
        let areAllForwarded = try eventually { stored.value == 500 }
        #expect(areAllForwarded)
        loop.stop()
        let keys = try makeReader(cluster, topic: "out", partitions: 1).read(atLeast: 500).compactMap(\.key)
        #expect(keys == (0..<500).map(String.init))
    }
}
