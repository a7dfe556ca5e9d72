internal import Kafka
internal import Telemetry
package import Topics

/// An open transaction of another producer in a partition of a view's topic. Later commits stay hidden behind
/// it, as behind a late marker. The cluster ends it at a time limit.
package final class OpenTransaction {
    private let producer: TransactionalProducer

    /// - Parameter limit: The time limit. On a busy machine a test can take a minute.
    package init(
        on bed: TestBed, topic: TopicName, partition: Int32 = 0, heldMilliseconds limit: Int = 120_000
    ) throws {
        producer = try TransactionalProducer(
            settings: bed.settings, transactionalID: "\(bed.layout.prefix)holder", timeoutMilliseconds: limit,
            name: "holder", log: .silent, metrics: Metrics())
        let heldTopic = try producer.topic(named: bed.layout.name(of: topic))
        try producer.initialize()
        try producer.begin()
        let key = Array("shop/i:nobody".utf8)
        let isQueued =
            producer.send(to: heldTopic, partition: partition, key: key.span, value: nil) == .queued
        // The record is delivered, so it is in the partition.
        while isQueued, producer.outstandingRecords > 0 { producer.pollEvents() }
    }

    package func abort() throws { try producer.abort() }
}
