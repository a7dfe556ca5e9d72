internal import CRdKafka
package import Telemetry

/// A client that creates, deletes and describes topics and reads the offsets of groups. Each call blocks
/// until the answer or its limit, so it belongs on a thread or task that may wait.
///
/// It is a consumer that never joins a group. A producer would crash in librdkafka 2.0.2 if a group's
/// coordinator answers `ListConsumerGroupOffsets` that it has moved, because the library then looks for the
/// producer's own group coordinator.
package final class AdminClient: Sendable {
    let client: KafkaClient

    private static let answerMarginMilliseconds: Int32 = 1000

    package init(
        settings: KafkaSettings, name: String = "admin", log: Log, metrics: Metrics
    ) throws(ConfigurationError) {
        var configuration = try ClientConfiguration(settings)
        ConsumerOptions(membership: .manual).apply(to: &configuration)
        client = try KafkaClient(
            type: .consumer, configuration: configuration,
            events: ClientEvents(log: log, metrics: ClientMetrics(metrics: metrics, client: name)))
    }

    /// Sends a request and reads its answer. After a transient error it sends the request again.
    ///
    /// - Parameters:
    ///   - action: completes "cannot …" in an error, such as "create topics".
    ///   - request: calls the library's function for the operation. The answer comes to the queue.
    ///   - read: takes the result from the answer, an event that is freed afterwards.
    func performRequest<Answer>(
        _ action: String, operation: rd_kafka_admin_op_t, withinMilliseconds limit: Int,
        request: (_ options: OpaquePointer, _ queue: OpaquePointer) -> Void,
        read: (OpaquePointer) -> Answer
    ) throws(KafkaError) -> Answer {
        let deadline = Deadline(milliseconds: limit)
        return try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            try unsafe performRequestOnce(
                action, operation: operation, withinMilliseconds: deadline.millisecondsLeft, request: request,
                read: read
            )
        }
    }

    private func performRequestOnce<Answer>(
        _ action: String, operation: rd_kafka_admin_op_t, withinMilliseconds limit: Int,
        request: (_ options: OpaquePointer, _ queue: OpaquePointer) -> Void,
        read: (OpaquePointer) -> Answer
    ) throws(KafkaError) -> Answer {
        guard let queue = unsafe rd_kafka_queue_new(client.pointer),
            let options = unsafe rd_kafka_AdminOptions_new(client.pointer, operation)
        else { throw KafkaError(action: action, code: .state) }
        defer {
            unsafe rd_kafka_AdminOptions_destroy(options)
            unsafe rd_kafka_queue_destroy(queue)
        }
        let limit = Int32(clamping: max(1, limit))
        unsafe rd_kafka_AdminOptions_set_request_timeout(options, limit, nil, 0)
        unsafe request(options, queue)
        // The library answers when the time is over. The margin allows for its own delay.
        guard let event = unsafe rd_kafka_queue_poll(queue, limit &+ Self.answerMarginMilliseconds) else {
            throw KafkaError(action: action, code: .timedOut)
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        let code = unsafe KafkaErrorCode(rd_kafka_event_error(event))
        guard code == .none else {
            throw KafkaError(
                action: action, code: code, text: unsafe String(cString: rd_kafka_event_error_string(event)))
        }
        return unsafe read(event)
    }
}
