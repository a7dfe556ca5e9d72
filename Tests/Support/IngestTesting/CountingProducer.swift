package import Kafka
internal import Telemetry

/// A producer that waits if its queue is full, and counts the stored records.
package final class CountingProducer {
    private static let flushMilliseconds = 60_000
    /// The number of sent records after which deliveries are counted.
    private static let collectionInterval = 100

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

    package var areAllStored: Bool { storedCount == sentCount }

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
            collect(waitMilliseconds: 10)
        }
        sentCount += 1
        if sentCount % Self.collectionInterval == 0 { collect(waitMilliseconds: 0) }
    }

    /// Waits for all acknowledgements.
    ///
    /// - Returns: The number of missing acknowledgements.
    @discardableResult
    package func flush() -> Int {
        let left = producer.flush(withinMilliseconds: Self.flushMilliseconds, into: &deliveries)
        collect(waitMilliseconds: 0)
        return left
    }

    /// Flushes for the last time and reports lost records.
    ///
    /// - Returns: The number of missing acknowledgements.
    package func finish() -> Int {
        let left = flush()
        if let firstLoss {
            print(
                "  \(sentCount - storedCount) of \(sentCount) records are not confirmed as stored; the first: \(firstLoss)"
            )
        }
        return left
    }

    private func collect(waitMilliseconds: Int32) {
        _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: waitMilliseconds)
        for delivery in deliveries {
            if delivery.isStored { storedCount += 1 } else { firstLoss = firstLoss ?? "\(delivery.outcome)" }
        }
        deliveries.removeAll(keepingCapacity: true)
    }
}
