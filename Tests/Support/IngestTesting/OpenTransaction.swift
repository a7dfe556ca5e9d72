internal import Kafka
internal import Telemetry
package import Topics

/// An open transaction of another producer in one partition. A read-committed consumer does not see later records of
/// the partition until the transaction ends, as with a marker that comes late. The cluster aborts it at a time limit.
package final class OpenTransaction {
    private let producer: TransactionalProducer

    /// - Parameter heldMilliseconds: The time limit. On a busy machine a test can take a minute.
    package init(
        on bed: TestBed, topic: TopicName, partition: Int32 = 0, heldMilliseconds: Int = 120_000
    ) throws {
        producer = try TransactionalProducer(
            settings: bed.settings, transactionalID: "\(bed.layout.prefix)holder",
            timeoutMilliseconds: heldMilliseconds, name: "holder", log: .silent, metrics: Metrics())
        let heldTopic = try producer.topic(named: bed.layout.name(of: topic))
        try producer.initialize()
        try producer.begin()
        let key = Array("shop/i:nobody".utf8)
        let isQueued =
            producer.send(to: heldTopic, partition: partition, key: key.span, value: nil) == .queued
        // Waits for the delivery. After it the transaction is open in the partition.
        while isQueued, producer.outstandingRecords > 0 { producer.pollEvents() }
    }

    package func abort() throws { try producer.abort() }
}
