internal import Kafka
internal import Telemetry
package import Topics

/// A transaction of somebody else's that is open in a partition of a view's topic: what is committed
/// behind it stays hidden, as behind a marker that comes late. The cluster ends it after a while.
package final class HeldPicture {
    private let producer: TransactionalProducer

    /// - Parameter limit: after so long the cluster ends it; a busy machine takes a minute for what a test does.
    package init(
        _ bed: IngestBed, of topic: TopicName, partition: Int32 = 0, heldMilliseconds limit: Int = 120_000
    ) throws {
        producer = try TransactionalProducer(
            bed.settings, transactionalID: "\(bed.layout.prefix)holder", timeoutMilliseconds: limit,
            name: "holder", log: .silent, metrics: Metrics())
        let held = try producer.topic(bed.layout.name(topic))
        try producer.initialise()
        try producer.begin()
        let key = Array("shop/i:nobody".utf8)
        let isQueued =
            producer.send(to: held, partition: partition, key: key.span, value: nil) == .queued
        // Delivered, and so in the partition.
        while isQueued, producer.outstanding > 0 { producer.serve() }
    }

    package func end() throws { try producer.abort() }
}
