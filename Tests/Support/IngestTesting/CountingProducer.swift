package import Kafka
internal import Telemetry

/// A producer that waits while its queue is full, and counts the records that Kafka has stored.
package final class CountingProducer {
    private static let flushMillisecondsMax = 60_000
    /// The number of sent records after which the acknowledgements are counted.
    private static let collectionInterval = 100
    /// The wait for acknowledgements while the queue is full.
    private static let fullQueueWaitMilliseconds: Int32 = 10

    private let producer: Producer
    private var deliveries: [Delivery] = []
    private var storedCount = 0
    /// The outcome of the first record that was not stored.
    private var firstLoss: String?
    package private(set) var sentCount = 0

    package init(
        on bed: TestBed, options: ProducerOptions = ProducerOptions(), name: String
    ) throws {
        producer = try Producer(
            settings: bed.settings, options: options, name: name, log: .silent, metrics: Metrics())
    }

    package func topic(named name: String) throws -> Topic { try producer.topic(named: name) }

    /// Whether all sent records are stored, as far as acknowledgements were counted.
    package var areAllStored: Bool { storedCount == sentCount }

    /// Sends a record. Waits for acknowledgements while the queue is full.
    package func send(
        to topic: Topic, partition: Int32?, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: consuming RecordHeaders = RecordHeaders(capacity: 0)
    ) {
        var headers = headers
        while true {
            let result = producer.send(
                to: topic, partition: partition, key: key, value: value, headers: &headers, tag: 0)
            if result == .queued { break }
            guard result == .full else {
                firstLoss = firstLoss ?? "\(result)"
                break
            }
            countDeliveries(waitMilliseconds: Self.fullQueueWaitMilliseconds)
        }
        sentCount += 1
        if sentCount % Self.collectionInterval == 0 { countDeliveries(waitMilliseconds: 0) }
    }

    /// Waits for all acknowledgements.
    ///
    /// - Returns: The number of missing acknowledgements.
    @discardableResult
    package func flush() -> Int {
        let missingCount = producer.flush(
            withinMilliseconds: Self.flushMillisecondsMax, into: &deliveries)
        countDeliveries(waitMilliseconds: 0)
        return missingCount
    }

    /// Flushes for the last time, and prints the number of lost records if there are any.
    ///
    /// - Returns: The number of missing acknowledgements.
    package func finish() -> Int {
        let missingCount = flush()
        if let firstLoss {
            print(
                "  \(sentCount - storedCount) of \(sentCount) records are not confirmed as stored; the first: \(firstLoss)"
            )
        }
        return missingCount
    }

    private func countDeliveries(waitMilliseconds: Int32) {
        _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: waitMilliseconds)
        for delivery in deliveries {
            if delivery.isStored { storedCount += 1 } else { firstLoss = firstLoss ?? "\(delivery.outcome)" }
        }
        deliveries.removeAll(keepingCapacity: true)
    }
}
