internal import CRdKafka
package import Telemetry

/// Sends records, idempotently and acknowledged by all in-sync replicas.
///
/// Any thread may send; one thread at a time collects the deliveries. The queue is bounded: beyond
/// it `send` says `full` and the caller collects deliveries first. Without collecting, the queue
/// never empties. What was not flushed when the last reference goes is lost.
package final class Producer: Sendable {
    /// Deliveries collected in one call; the descriptor stays readable when there are more.
    package static let deliveriesPerCall = 10_000

    let client: Client

    /// - Parameter name: which loop's producer this is, `sender-0`, in metrics.
    package init(
        _ settings: KafkaSettings, _ options: ProducerOptions = ProducerOptions(), name: String, log: Log,
        metrics: Metrics
    ) throws(ConfigurationError) {
        var configuration = try Configuration(settings)
        options.apply(to: &configuration)
        configuration.set("message.timeout.ms", "\(options.deliveryMillisecondsMax)")
        unsafe rd_kafka_conf_set_events(configuration.unfinished, RD_KAFKA_EVENT_DR)
        client = try Client(
            .producer, configuration,
            events: ClientEvents(log: log, metrics: ClientMetrics(metrics, client: name)))
    }

    package func topic(_ name: String) throws(KafkaError) -> Topic { try Topic(name, of: client) }

    /// Readable while there are deliveries to collect.
    package var descriptor: Int32 { client.wakeup.descriptor }

    /// Records without a collected delivery.
    package var outstanding: Int { Int(unsafe rd_kafka_outq_len(client.pointer)) }

    /// Set once the producer is at its end and has to be rebuilt.
    package var fatalError: KafkaError? { client.fatalError }

    /// Asks the broker. A consumer that asks waits behind its own fetches, up to half a second for each
    /// partition; a producer does not.
    package func watermarks(
        of partition: TopicPartition, withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> Watermarks {
        try client.watermarks(partition, Deadline(milliseconds: limit))
    }

    /// Asks without waiting; `takeAnswers` returns the answers.
    package func ask(_ question: KafkaQuestion) -> QuestionID { client.ask(question) }

    /// Returns the answers that have come since the last call.
    package func takeAnswers() -> [(QuestionID, KafkaAnswer)] { client.received.take() }

    /// Queues one record. Key and value are copied. Nil and empty bytes are different values.
    ///
    /// - Parameters:
    ///   - partition: nil leaves the choice to the key's hash; without a key it is random.
    ///   - tag: comes back with the delivery.
    ///   - timestamp: milliseconds since 1970; 0 is now.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?, tag: UInt64,
        timestamp: Int64 = 0
    ) -> SendResult {
        unsafe client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY, headers: nil,
            tag: tag,
            timestamp: timestamp)
    }

    /// As above, with headers, which are used up unless the record was not queued.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: inout RecordHeaders, tag: UInt64, timestamp: Int64 = 0
    ) -> SendResult {
        client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY,
            headers: &headers, tag: tag,
            timestamp: timestamp)
    }

    /// Appends what became of records; true when there is more to collect.
    package func collect(into deliveries: inout [Delivery], waitMilliseconds: Int32 = 0) -> Bool {
        client.wakeup.clear()
        let limit = deliveries.count + Self.deliveriesPerCall
        var wait = waitMilliseconds
        while deliveries.count < limit {
            guard let event = unsafe rd_kafka_queue_poll(client.queue, wait) else { return false }
            if unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR {
                unsafe hear(event, &deliveries)
            } else {
                unsafe client.events.hear(event)
            }
            unsafe rd_kafka_event_destroy(event)
            wait = 0
        }
        client.wakeup.signal()
        return true
    }

    private func hear(_ event: OpaquePointer, _ deliveries: inout [Delivery]) {
        let before = deliveries.count
        var latency: Int64 = -1
        while let message = unsafe rd_kafka_event_message_next(event) {
            unsafe deliveries.append(Delivery(message))
            if latency < 0 { latency = unsafe rd_kafka_message_latency(message) }
        }
        client.metrics.delivered(deliveries.count - before, microseconds: latency)
    }

    /// Sends everything now, lingering over nothing, and collects until all is delivered or the time
    /// is over. Returns how many records are still outstanding.
    package func flush(withinMilliseconds limit: Int, into deliveries: inout [Delivery]) -> Int {
        let deadline = Deadline(milliseconds: limit)
        while true {
            _ = collect(into: &deliveries)
            let left = deadline.millisecondsLeft
            if outstanding == 0 || left <= 0 { return outstanding }
            _ = unsafe rd_kafka_flush(client.pointer, min(Int32(left), 10))
        }
    }
}

extension Delivery {
    fileprivate init(_ message: UnsafePointer<rd_kafka_message_t>) {
        let code = unsafe ErrorCode(message.pointee.err)
        let outcome: Outcome =
            switch unsafe rd_kafka_message_status(message) {
            case RD_KAFKA_MSG_STATUS_PERSISTED where unsafe ImpliedAcknowledgements.includes(message):
                .unknown(.outOfOrderSequence)
            case RD_KAFKA_MSG_STATUS_PERSISTED: unsafe .stored(offset: message.pointee.offset)
            case RD_KAFKA_MSG_STATUS_NOT_PERSISTED: .notStored(code)
            default: .unknown(code)
            }
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let time = unsafe rd_kafka_message_timestamp(message, &kind)
        unsafe self.init(
            tag: UInt64(UInt(bitPattern: message.pointee._private)), partition: message.pointee.partition,
            outcome: outcome, stamp: kind == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? time : nil)
    }
}
