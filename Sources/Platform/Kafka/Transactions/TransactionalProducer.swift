internal import CRdKafka
internal import Glibc
internal import Lifecycle
package import Telemetry

/// A producer that sends records and commits consumed offsets in transactions. Pinned to one thread.
///
/// Call `initialise` and `warmUp` first. Then repeat `begin`, `send`, `sendOffsets`, and `commit` or `abort`.
/// The `advice` of a failure names the next step. A failed delivery appears in `sendOffsets` or `commit`.
/// There are no delivery reports to collect.
package final class TransactionalProducer {
    /// The broker ends a transaction after this time. Until then an abandoned transaction hides all
    /// records behind it.
    package static let transactionMilliseconds = 10_000
    /// The time limit of `initialise`. A cluster that has just started delays the first transaction.
    package static let initialiseMilliseconds = 15_000

    private let client: Client
    private let compressionOfTopics: [String: ProducerOptions.Compression]
    private var begunAt = Instant.now()

    /// - Parameters:
    /// - transactionalID: derived from the slot, so that no other living process has the same id.
    ///   - timeout: the time after which the broker ends a transaction.
    package init(
        _ settings: KafkaSettings, _ options: ProducerOptions = ProducerOptions(), transactionalID: String,
        timeoutMilliseconds timeout: Int = TransactionalProducer.transactionMilliseconds, name: String,
        log: Log, metrics: Metrics
    ) throws(ConfigurationError) {
        var options = options
        // A transaction is sent as soon as it is complete. In the first call of each transaction the
        // library often finds that the previous one has not quite ended, and tries again. Its default back-off
        // of 100 ms would delay that call.
        options.lingerMilliseconds = 0
        var configuration = try Configuration(settings)
        options.apply(to: &configuration)
        compressionOfTopics = options.compressionOfTopics
        configuration.set("transactional.id", transactionalID)
        configuration.set("transaction.timeout.ms", "\(timeout)")
        configuration.set("retry.backoff.ms", "5")
        // The library refuses an answer limit that is longer than the transaction's.
        if settings.properties["socket.timeout.ms"] == nil, timeout <= Configuration.answerMilliseconds {
            configuration.set("socket.timeout.ms", "\(max(timeout - 100, 10))")
        }
        let events = ClientEvents(log: log, metrics: ClientMetrics(metrics, client: name))
        events.implied.attach(to: configuration)
        client = try Client(.transactionalProducer, configuration, events: events)
    }

    package func topic(_ name: String) throws(KafkaError) -> Topic {
        try Topic(name, of: client, compression: compressionOfTopics[name])
    }

    package var fatalError: KafkaError? { client.fatalError }

    /// Fences any earlier producer with this id and ends its open transaction.
    package func initialise(
        withinMilliseconds limit: Int = TransactionalProducer.initialiseMilliseconds
    ) throws(TransactionFailure) {
        let deadline = Deadline(milliseconds: limit)
        try unsafe retrying(.initialise, until: deadline) {
            unsafe rd_kafka_init_transactions(client.pointer, max(1, deadline.forCall))
        }
    }

    /// Looks up the topics' partitions and connects to their leaders, so that the first transaction is as
    /// fast as the others. Call it before the stage reports that it is ready.
    package func warmUp(_ topics: [Topic], withinMilliseconds limit: Int = 5000) throws(KafkaError) {
        let deadline = Deadline(milliseconds: limit)
        for topic in topics {
            let known = try client.describe(topic, deadline)
            for partition in known.partitions {
                _ = try client.watermarks(TopicPartition(topic.name, partition), deadline)
            }
        }
    }

    /// Lets the client end in the background, because another producer replaces it.
    func replace() { client.replace() }

    /// Counts that another producer with the same id fenced this one.
    func countFence() { client.metrics.transaction("fenced") }

    package func begin() throws(TransactionFailure) {
        begunAt = .now()
        _ = client.events.implied.take()
        try unsafe call(.begin) { unsafe rd_kafka_begin_transaction(client.pointer) }
    }

    /// Queues one record of the transaction. Key and value are copied.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?, timestamp: Int64 = 0
    ) -> SendResult {
        unsafe client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY, headers: nil,
            tag: 0,
            timestamp: timestamp)
    }

    /// Queues one record with headers. The headers are consumed, unless the record was not queued.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: inout RecordHeaders, timestamp: Int64 = 0
    ) -> SendResult {
        client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY,
            headers: &headers, tag: 0,
            timestamp: timestamp)
    }

    /// Queues one record with headers. The body is not copied. It is kept until the transaction has
    /// ended.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, body: SharedBody,
        headers: inout RecordHeaders, timestamp: Int64 = 0
    ) -> SendResult {
        client.keep(body)
        return client.produce(
            to: topic, partition: partition, key: key, value: body.span, flags: 0, headers: &headers, tag: 0,
            timestamp: timestamp)
    }

    /// Waits until the queue has space after the result `full`. Returns false if the limit passes first.
    package func waitForRoom(withinMilliseconds limit: Int) -> Bool {
        let before = outstanding
        let deadline = Deadline(milliseconds: limit)
        while outstanding >= before {
            if deadline.millisecondsLeft == 0 { return false }
            _ = unsafe rd_kafka_poll(client.pointer, 1)
        }
        return true
    }

    /// Adds the consumed offsets to the transaction. The library delivers all queued records first.
    package func sendOffsets(
        _ offsets: [OffsetToCommit], _ group: GroupMetadata, withinMilliseconds limit: Int = 5000
    ) throws(TransactionFailure) {
        let deadline = Deadline(milliseconds: limit)
        let list = PartitionList(offsets)
        try unsafe retrying(.offsets, until: deadline) {
            unsafe rd_kafka_send_offsets_to_transaction(
                client.pointer, list.pointer, group.pointer, max(1, deadline.forCall))
        }
    }

    /// Delivers the queued records, then commits. If it throws, the error's `advice` tells whether the
    /// outcome is known.
    package func commit() throws(TransactionFailure) {
        try deliver()
        let implied = client.events.implied.take()
        guard implied == 0 else {
            throw TransactionFailure(
                .flush, .outOfOrderSequence,
                text: "\(implied) records were not acknowledged, but later ones were", as: .abortable)
        }
        // The library applies its own limit here: the remaining time of the transaction.
        try unsafe retrying(.commit, until: Deadline(milliseconds: Self.transactionMilliseconds)) {
            unsafe rd_kafka_commit_transaction(client.pointer, -1)
        }
        client.letGo()
        client.metrics.transactionCommitted(seconds: Instant.now().seconds(since: begunAt))
    }

    package func abort() throws(TransactionFailure) {
        client.metrics.transaction("aborted")
        try unsafe retrying(.abort, until: Deadline(milliseconds: Self.transactionMilliseconds)) {
            unsafe rd_kafka_abort_transaction(client.pointer, -1)
        }
        // The library drops unsent records. It has released their bodies only when its queue is empty.
        try deliver()
        client.letGo()
    }

    /// The number of records that no broker has acknowledged yet.
    package var outstanding: Int { Int(unsafe rd_kafka_outq_len(client.pointer)) }

    /// Serves errors, statistics and throttling. Call it also when idle.
    package func serve() { _ = unsafe rd_kafka_poll(client.pointer, 0) }

    /// Waits until every record has an acknowledgement or an error. It polls in shorter steps than the
    /// library's own flush.
    private func deliver() throws(TransactionFailure) {
        let deadline = Deadline(milliseconds: Self.transactionMilliseconds)
        var pause: UInt32 = 50
        while outstanding > 0 {
            if deadline.millisecondsLeft == 0 {
                throw TransactionFailure(
                    .flush, .timedOut, text: "\(outstanding) records were not acknowledged in time",
                    as: .abortable)
            }
            serve()
            usleep(pause)
            pause = min(pause * 2, 1000)
        }
    }

    private func retrying(
        _ operation: TransactionFailure.Operation, until deadline: Deadline, _ body: () -> OpaquePointer?
    ) throws(TransactionFailure) {
        while true {
            do {
                return try unsafe call(operation, body)
            } catch {
                guard error.advice == .callAgain, deadline.millisecondsLeft > 0 else { throw error }
                serve()
                usleep(5000)
            }
        }
    }

    private func call(
        _ operation: TransactionFailure.Operation, _ body: () -> OpaquePointer?
    ) throws(TransactionFailure) {
        guard let error = unsafe body() else { return }
        defer { unsafe rd_kafka_error_destroy(error) }
        let kind: TransactionFailure.Class =
            if unsafe rd_kafka_error_is_fatal(error) != 0 {
                .fatal
            } else if unsafe rd_kafka_error_txn_requires_abort(error) != 0 {
                .abortable
            } else if unsafe rd_kafka_error_is_retriable(error) != 0 {
                .retriable
            } else {
                .unclassed
            }
        throw TransactionFailure(
            operation, unsafe ErrorCode(rd_kafka_error_code(error)),
            text: unsafe String(cString: rd_kafka_error_string(error)), as: kind)
    }
}
