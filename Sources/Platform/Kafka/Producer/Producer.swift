internal import CRdKafka
package import Telemetry

/// A producer that is idempotent and waits for the acknowledgement of all in-sync replicas.
///
/// Any thread may send. One thread at a time collects the deliveries. The queue is bounded: if it is full,
/// `send` returns `full`, and the caller must collect deliveries before it sends again. A record leaves the
/// queue only when its delivery is collected. Records that were not flushed are lost when the last reference
/// to the producer is released.
package final class Producer: Sendable {
    /// The maximum number of deliveries that one call collects. The descriptor stays readable if there are
    /// more.
    package static let deliveriesPerCall = 10_000

    private static let flushStepMilliseconds = 10

    let client: KafkaClient

    /// - Parameter name: The loop that uses this producer, such as `sender-0`. It is a label of the metrics.
    package init(
        settings: KafkaSettings, options: ProducerOptions = ProducerOptions(), name: String, log: Log,
        metrics: Metrics
    ) throws(ConfigurationError) {
        var configuration = try ClientConfiguration(settings)
        options.apply(to: &configuration)
        configuration.set("message.timeout.ms", to: "\(options.deliveryMillisecondsMax)")
        unsafe rd_kafka_conf_set_events(configuration.borrowedPointer, RD_KAFKA_EVENT_DR)
        client = try KafkaClient(
            type: .producer, configuration: configuration,
            events: ClientEvents(log: log, metrics: ClientMetrics(metrics: metrics, client: name)))
    }

    /// Returns a topic to send to. Make it once, at the start.
    package func topic(named name: String) throws(KafkaError) -> Topic {
        try Topic(name: name, client: client)
    }

    /// A descriptor that is readable while there are deliveries to collect.
    package var descriptor: Int32 { client.wakeup.descriptor }

    /// The number of records whose delivery was not collected yet.
    package var outstandingRecords: Int { Int(unsafe rd_kafka_outq_len(client.pointer)) }

    /// The error after which the producer must be rebuilt, if there was one.
    package var fatalError: KafkaError? { client.fatalError }

    /// Returns whether the library has reported since the last call that no broker is connected. This is a
    /// suspicion: the connection to a single broker may only have been idle. Call it on the thread that
    /// collects deliveries.
    package func takeLossOfAllBrokers() -> Bool { client.events.takeLossOfAllBrokers() }

    /// Gives up the records in the queue. Their deliveries never come. The client ends in the background.
    package func abandon() { client.endInBackground() }

    /// Returns the watermarks. Waits for the leader's answer. A consumer's query waits behind its own
    /// fetches, up to half a second for each partition. A producer's query does not.
    package func watermarks(
        of partition: TopicPartition, withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> Watermarks {
        try client.watermarks(of: partition, until: Deadline(milliseconds: limit))
    }

    /// Submits a query without waiting. `takeQueryResults` returns the results.
    package func submit(_ query: OffsetQuery) -> OffsetQueryID { client.submit(query) }

    /// Returns the results that have come since the last call.
    package func takeQueryResults() -> [(OffsetQueryID, OffsetQueryResult)] { client.queryResults.takeAll() }

    /// Queues one record. Key and value are copied. Nil and empty bytes are different values.
    ///
    /// - Parameters:
    ///   - partition: The partition. Nil chooses it by the key's hash, or at random if there is no key.
    ///   - tag: A number that comes back with the delivery.
    ///   - timestamp: Milliseconds since 1970; 0 means now.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?, tag: UInt64,
        timestamp: Int64 = 0
    ) -> SendResult {
        unsafe client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY, headers: nil,
            tag: tag, timestamp: timestamp)
    }

    /// Queues one record with headers. The library takes the headers, unless the record was not queued.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: inout RecordHeaders, tag: UInt64, timestamp: Int64 = 0
    ) -> SendResult {
        client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY,
            headers: &headers, tag: tag, timestamp: timestamp)
    }

    /// Appends the deliveries that have arrived. Returns true if there are more to collect.
    package func collectDeliveries(into deliveries: inout [Delivery], waitMilliseconds: Int32 = 0) -> Bool {
        client.wakeup.clear()
        let countMax = deliveries.count + Self.deliveriesPerCall
        var wait = waitMilliseconds
        while deliveries.count < countMax {
            guard let event = unsafe rd_kafka_queue_poll(client.queue, wait) else { return false }
            if unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR {
                unsafe appendDeliveries(from: event, to: &deliveries)
            } else {
                unsafe client.events.handle(event)
            }
            unsafe rd_kafka_event_destroy(event)
            wait = 0
        }
        client.wakeup.signal()
        return true
    }

    private func appendDeliveries(from event: OpaquePointer, to deliveries: inout [Delivery]) {
        let countBefore = deliveries.count
        // The first record that has a latency gives it for the whole event. −1 is unknown.
        var latencyMicroseconds: Int64 = -1
        while let message = unsafe rd_kafka_event_message_next(event) {
            unsafe deliveries.append(Delivery(message: message))
            if latencyMicroseconds < 0 { latencyMicroseconds = unsafe rd_kafka_message_latency(message) }
        }
        client.metrics.recordDeliveries(
            count: deliveries.count - countBefore, microseconds: latencyMicroseconds)
    }

    /// Sends all queued records without lingering. Collects deliveries until all records are delivered or the
    /// limit is reached. Returns the number of records that are still outstanding.
    package func flush(withinMilliseconds limit: Int, into deliveries: inout [Delivery]) -> Int {
        let deadline = Deadline(milliseconds: limit)
        while true {
            _ = collectDeliveries(into: &deliveries)
            let remainingMilliseconds = deadline.millisecondsLeft
            if outstandingRecords == 0 || remainingMilliseconds <= 0 { return outstandingRecords }
            // Short steps, because the library waits until the deliveries are collected.
            let stepMilliseconds = min(remainingMilliseconds, Self.flushStepMilliseconds)
            _ = unsafe rd_kafka_flush(client.pointer, Int32(stepMilliseconds))
        }
    }
}

extension Delivery {
    /// Reads the outcome from a delivery report.
    fileprivate init(message: UnsafePointer<rd_kafka_message_t>) {
        let code = unsafe KafkaErrorCode(message.pointee.err)
        let outcome: DeliveryOutcome =
            switch unsafe rd_kafka_message_status(message) {
            case RD_KAFKA_MSG_STATUS_PERSISTED where unsafe ImpliedAcknowledgements.isImplied(message):
                .unknown(.outOfOrderSequence)
            case RD_KAFKA_MSG_STATUS_PERSISTED: unsafe .stored(offset: message.pointee.offset)
            case RD_KAFKA_MSG_STATUS_NOT_PERSISTED: .notStored(code)
            default: .unknown(code)
            }
        var timestampType = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let timestamp = unsafe rd_kafka_message_timestamp(message, &timestampType)
        let brokerTimestamp = timestampType == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? timestamp : nil
        unsafe self.init(
            tag: UInt64(UInt(bitPattern: message.pointee._private)), partition: message.pointee.partition,
            outcome: outcome, brokerTimestamp: brokerTimestamp)
    }
}
