package import Kafka
internal import Lifecycle
package import Telemetry
package import Topics

/// A writer of the records that a loop sends outside its transactions, such as dead letters. All of them are
/// acknowledged before the offsets of their batch are committed, so none is lost. A crash in between duplicates them.
/// Pinned to the loop's thread.
package final class NonTransactionalWriter {
    /// The longest wait for acknowledgements, and for space in a full queue. After this time the batch is read again.
    /// The loop does not poll its group meanwhile, so the limit is a ninth of the usual session.
    package static let waitMillisecondsMax = 2000
    /// The time after which the producer gives up on a record.
    private static let deliveryMillisecondsMax = 10_000
    /// The size of the largest record: a copy in the dead letters, and space for the headers that describe it.
    private static let recordBytesMax = copiedBytesMax + (64 << 10)

    /// The limits of the records that wait for acknowledgement. Beyond them a record waits for space. They bound the
    /// memory of a batch whose records are all forwarded or rejected.
    private static let queueRecordsMax = 20_000
    private static let queueKibibytesMax = 16_384

    /// The time after the last record or query at which the client is closed. A client costs three threads.
    private static let idleMillisecondsMax = 60_000

    /// The pause before a record is sent again to a full queue.
    private static let queueWaitMilliseconds: Int32 = 10

    private let kafka: KafkaSettings
    private let options: ProducerOptions
    private let name: String
    private let log: Log
    private let metrics: Metrics
    let deadLettersTopic: String
    /// Nil until the first record or query, and after a while without any. Most stages never send any.
    private var producer: Producer?
    private var lastUsedAt = Instant(nanoseconds: 0)
    private var topics: [String: Topic] = [:]
    /// The memory for deliveries that are being handled.
    private var deliveries: [Delivery] = []
    /// The number of records that were sent and are not acknowledged.
    private var unacknowledgedCount = 0
    /// The newest failure since the last wait for acknowledgements.
    private var failure: String?

    package init(
        kafka settings: KafkaSettings, layout: TopicLayout, name: String, log: Log, metrics: Metrics
    ) {
        var options = ProducerOptions()
        options.recordBytesMax = Self.recordBytesMax
        options.deliveryMillisecondsMax = Self.deliveryMillisecondsMax
        options.queueRecordsMax = Self.queueRecordsMax
        options.queueKibibytesMax = Self.queueKibibytesMax
        self.kafka = settings
        self.options = options
        self.name = name
        self.log = log
        self.metrics = metrics
        deadLettersTopic = layout.name(of: .deadLetters)
    }

    package var hasFatalError: Bool { producer?.fatalError != nil }

    private func makeOrReuseProducer() throws -> Producer {
        lastUsedAt = .now()
        if let producer { return producer }
        let newProducer = try Producer(
            settings: kafka, options: options, name: name, log: log, metrics: metrics)
        producer = newProducer
        return newProducer
    }

    private func topic(named name: String, of producer: Producer) throws -> Topic {
        if let topic = topics[name] { return topic }
        let topic = try producer.topic(named: name)
        topics[name] = topic
        return topic
    }

    // MARK: Queries

    /// Submits a query and does not wait. Unlike a consumer's query, it is not delayed by fetches.
    package func submit(_ query: OffsetQuery) throws -> OffsetQueryID {
        try makeOrReuseProducer().submit(query)
    }

    /// Returns the answers that arrived since the last call.
    package func takeQueryResults() -> [(OffsetQueryID, OffsetQueryResult)] {
        producer?.takeQueryResults() ?? []
    }

    // MARK: Sending

    /// Sends a record. While the queue is full, it waits for a limited time. `waitForAcknowledgements` reports a
    /// failure.
    package func send(
        to topic: String, partition: Int32, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: inout RecordHeaders
    ) {
        do {
            let producer = try makeOrReuseProducer()
            let topic = try self.topic(named: topic, of: producer)
            let startedAt = Instant.now()
            while true {
                let result = producer.send(
                    to: topic, partition: partition, key: key, value: value, headers: &headers, tag: 0)
                if result != .full { return handle(result) }
                // After a failure the batch is read again, so its other records need not wait.
                guard failure == nil, Instant.now().milliseconds(since: startedAt) < Self.waitMillisecondsMax
                else {
                    failure = failure ?? "the queue of the producer stayed full"
                    return
                }
                collectDeliveries(waitMilliseconds: Self.queueWaitMilliseconds)
            }
        } catch {
            failure = "\(error)"
        }
    }

    // MARK: Acknowledgements

    private func handle(_ result: SendResult) {
        switch result {
        case .queued: unacknowledgedCount += 1
        case .full: break
        case .refused(let code), .unusable(let code): failure = "\(code.remedy) (\(code.rawValue))"
        }
    }

    private func collectDeliveries(waitMilliseconds: Int32) {
        guard let producer else { return }
        _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: waitMilliseconds)
        handleDeliveries()
    }

    private func handleDeliveries() {
        for delivery in deliveries {
            unacknowledgedCount -= 1
            switch delivery.outcome {
            case .stored: break
            case .notStored(let code), .unknown(let code): failure = "\(code.remedy) (\(code.rawValue))"
            }
        }
        deliveries.removeAll(keepingCapacity: true)
    }

    /// The reason why some records are not known to be stored.
    package enum WriteProblem: Equatable, CustomStringConvertible {
        /// This number of records was not acknowledged in time. Their acknowledgements may still come.
        case late(Int)
        /// A record is not stored, or may not be.
        case failed(String)

        package var description: String {
            switch self {
            case .late(let count): "\(count) records were not acknowledged in time"
            case .failed(let reason): reason
            }
        }
    }

    /// Waits until all records are acknowledged. Returns the problem if one is not. Then the batch must not be
    /// committed.
    package func waitForAcknowledgements() -> WriteProblem? {
        if unacknowledgedCount > 0, let producer {
            _ = producer.flush(withinMilliseconds: Self.waitMillisecondsMax, into: &deliveries)
            handleDeliveries()
        }
        let writeProblem = failure.map(WriteProblem.failed)
        failure = nil
        if let writeProblem { return writeProblem }
        return unacknowledgedCount > 0 ? .late(unacknowledgedCount) : nil
    }

    /// Lets the client report errors and statistics while nothing is sent. Closes a client that has had no work for a
    /// while.
    package func poll() {
        collectDeliveries(waitMilliseconds: 0)
        guard let producer, unacknowledgedCount == 0,
            Instant.now().milliseconds(since: lastUsedAt) > Self.idleMillisecondsMax
        else { return }
        producer.abandon()
        self.producer = nil
        topics.removeAll()
    }
}
