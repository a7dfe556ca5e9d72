package import Kafka
package import RecordFormat
package import Telemetry
package import Topics

/// A writer of the records that a batch sends outside its transaction: dead letters and others. All of them
/// are acknowledged before the batch's offsets are committed, so none is lost. A crash in between duplicates
/// them. Pinned to its loop's thread.
package final class NonTransactionalWriter {
    /// The longest wait for acknowledgements. After it the batch is read again.
    package static let acknowledgementWaitMilliseconds = 10_000
    /// The largest record that is copied to the dead letters, in bytes. A larger one, which compression
    /// may have hidden, is named only by its position. If the topic refused it, its partition would wait for
    /// ever.
    private static let copiedBytesMax = 4 << 20
    /// The limit above plus the headers that describe the dead letter.
    private static let recordBytesMax = copiedBytesMax + 1 << 16

    private let kafka: KafkaSettings
    private let options: ProducerOptions
    private let name: String
    private let log: Log
    private let metrics: Metrics
    private let deadLettersTopic: String
    /// Nil until the first record or question. Most stages never send any, and a client costs three threads.
    private var producer: Producer?
    private var topics: [String: Topic] = [:]
    private var deliveries: [Delivery] = []
    private var unacknowledgedCount = 0
    private var failure: String?

    package init(
        kafka settings: KafkaSettings, layout: TopicLayout, name: String, log: Log, metrics: Metrics
    ) {
        var options = ProducerOptions()
        options.recordBytesMax = Self.recordBytesMax
        options.deliveryMillisecondsMax = Self.acknowledgementWaitMilliseconds
        self.kafka = settings
        self.options = options
        self.name = name
        self.log = log
        self.metrics = metrics
        deadLettersTopic = layout.name(of: .deadLetters)
    }

    package var hasFatalError: Bool { producer?.fatalError != nil }

    private func makeOrReuseProducer() throws -> Producer {
        if let producer { return producer }
        let made = try Producer(settings: kafka, options: options, name: name, log: log, metrics: metrics)
        producer = made
        return made
    }

    private func topic(named name: String, of producer: Producer) throws -> Topic {
        if let topic = topics[name] { return topic }
        let made = try producer.topic(named: name)
        topics[name] = made
        return made
    }

    /// Asks without waiting. Unlike a consumer's question, a producer's question does not wait behind fetches.
    package func submit(_ query: OffsetQuery) throws -> OffsetQueryID {
        try makeOrReuseProducer().submit(query)
    }

    /// Returns the answers that arrived since the last call.
    package func takeQueryResults() -> [(OffsetQueryID, OffsetQueryResult)] {
        producer?.takeQueryResults() ?? []
    }

    package func send(
        to topic: String, partition: Int32, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: inout RecordHeaders
    ) {
        do {
            let producer = try makeOrReuseProducer()
            let topic = try self.topic(named: topic, of: producer)
            while true {
                let result = producer.send(
                    to: topic, partition: partition, key: key, value: value, headers: &headers, tag: 0)
                if result != .full { return handle(result) }
                collect(waitMilliseconds: 10)
            }
        } catch {
            failure = "\(error)"
        }
    }

    /// Sends the unchanged record to the dead letters, with headers that give the reason.
    ///
    /// - Parameter sealed: replaces the value if the value must not be stored in plain text.
    package func sendToDeadLetters(
        _ record: borrowing Kafka.Record, sealedValue: [UInt8]? = nil, as letter: DeadLetter
    ) {
        var letter = letter
        var headers = RecordHeaders(capacity: 12)
        let own = record.headers
        let bytes = record.byteCount
        let isCopied = bytes <= Self.copiedBytesMax
        if isCopied {
            for index in 0..<own.count { headers.add(named: own[index].name, value: own[index].value) }
        } else {
            letter.reason += "; its \(bytes) bytes are not kept here"
        }
        for (name, value) in letter.headers {
            let name = Array(name.rawValue.utf8)
            let value = Array(value.utf8)
            headers.add(named: name.span, value: value.span)
        }
        let key = isCopied ? record.key : nil
        if isCopied, let sealedValue {
            send(
                to: deadLettersTopic, partition: letter.partition, key: key, value: sealedValue.span,
                headers: &headers)
        } else {
            let value = isCopied ? record.value : nil
            send(
                to: deadLettersTopic, partition: letter.partition, key: key, value: value, headers: &headers)
        }
    }

    private func handle(_ result: SendResult) {
        switch result {
        case .queued: unacknowledgedCount += 1
        case .full: break
        case .refused(let code), .unusable(let code): failure = "\(code.remedy) (\(code.rawValue))"
        }
    }

    private func collect(waitMilliseconds: Int32) {
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

    /// Waits until all records are acknowledged. Returns nil, or the failure. After a failure the batch
    /// must not commit.
    package func waitForAcknowledgements() -> String? {
        defer { failure = nil }
        if unacknowledgedCount > 0, let producer {
            _ = producer.flush(withinMilliseconds: Self.acknowledgementWaitMilliseconds, into: &deliveries)
            handleDeliveries()
        }
        if unacknowledgedCount > 0 { return "\(unacknowledgedCount) records were not acknowledged in time" }
        return failure
    }

    /// Serves errors and statistics if there is nothing to send.
    package func poll() { collect(waitMilliseconds: 0) }
}

extension Kafka.Record {
    /// The total size of the key, the value and the headers.
    package var byteCount: Int {
        var sum = (key?.count ?? 0) + (value?.count ?? 0)
        let list = headers
        for index in 0..<list.count { sum += list[index].name.count + (list[index].value?.count ?? 0) }
        return sum
    }
}
