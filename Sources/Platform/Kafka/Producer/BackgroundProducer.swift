internal import Lifecycle
package import Telemetry

/// A producer for the few records that their writers repeat anyway. So no writer needs their deliveries, and
/// all such writers of a process share one client. A queue that is full drops the next record.
package final class BackgroundProducer: Sendable {
    private let producer: Producer
    private let topics = TracedLock<[String: Topic]>([:])
    /// The lock lets one thread at a time collect the deliveries.
    private let deliveries = TracedLock<[Delivery]>([])

    fileprivate init(settings: KafkaSettings, log: Log, metrics: Metrics) throws(ConfigurationError) {
        producer = try Producer(settings: settings, name: "background", log: log, metrics: metrics)
    }

    /// Queues one record. A nil value is a tombstone.
    package func send(toTopic name: String, key: [UInt8], value: [UInt8]?) throws(KafkaError) {
        _ = producer.send(to: try topic(named: name), key: key.span, value: value?.span, tag: 0)
        deliveries.withLock { deliveries in
            _ = producer.collectDeliveries(into: &deliveries)
            deliveries.removeAll(keepingCapacity: true)
        }
    }

    private func topic(named name: String) throws(KafkaError) -> Topic {
        if let topic = topics.withLock({ $0[name] }) { return topic }
        let topic = try producer.topic(named: name)
        topics.withLock { $0[name] = topic }
        return topic
    }

    /// Waits until all queued records are stored, at most for the limit.
    package func flush(withinMilliseconds limit: Int) {
        deliveries.withLock { deliveries in
            _ = producer.flush(withinMilliseconds: limit, into: &deliveries)
            deliveries.removeAll(keepingCapacity: true)
        }
    }
}

/// The background producer of a process. It ends with its last writer.
final class SharedBackgroundProducer: Sendable {
    private struct WeakProducer {
        weak var producer: BackgroundProducer?
    }

    private let shared = TracedLock(WeakProducer())

    fileprivate func producer(
        settings: KafkaSettings, log: Log, metrics: Metrics
    ) -> Result<BackgroundProducer, ConfigurationError> {
        shared.withLock { shared in
            if let producer = shared.producer { return .success(producer) }
            do throws(ConfigurationError) {
                let producer = try BackgroundProducer(settings: settings, log: log, metrics: metrics)
                shared.producer = producer
                return .success(producer)
            } catch {
                return .failure(error)
            }
        }
    }
}

extension Cluster {
    /// Returns the background producer of the process.
    package func makeBackgroundProducer(log: Log, metrics: Metrics) throws -> BackgroundProducer {
        try backgroundProducer.producer(settings: settings, log: log, metrics: metrics).get()
    }
}
