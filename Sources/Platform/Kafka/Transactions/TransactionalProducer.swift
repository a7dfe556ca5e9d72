internal import CRdKafka
internal import Glibc
internal import Lifecycle
package import Telemetry

/// A producer that sends records and commits consumed offsets in transactions. It is pinned to one thread.
///
/// Call `initialize` and `connectToLeaders` first. Then repeat `begin`, `send`, `sendOffsets`, and `commit`
/// or `abort`. The `advice` of a failure names the next step. A failed delivery appears in `sendOffsets` or
/// `commit`. There are no delivery reports to collect.
package final class TransactionalProducer {
    /// The broker ends a transaction after this time. Until then an abandoned transaction hides all
    /// records behind it.
    package static let transactionMillisecondsMax = 6000
    /// The limit of one call that a loop waits for, and of all records of a transaction together. It is a ninth of the
    /// usual session, so that the loop keeps its membership.
    package static let callMillisecondsMax = 2000
    /// The longest wait for a broker's answer to one request. The library waits for the answers to the requests of
    /// `sendOffsets` even beyond the limit of the call, and looks once a second whether one is late. So a loop waits for less
    /// than a fifth of the usual session.
    private static let responseMillisecondsMax = 2500
    /// The limit of an abort. If it takes longer, the producer is replaced, and the new one ends the transaction.
    private static let abortMillisecondsMax = 1000
    /// The time within which the library drops records that are not delivered. It does so without the cluster.
    private static let discardMillisecondsMax = 500
    /// The time limit of `initialize`. A cluster that has just started delays the first transaction.
    package static let initializeMillisecondsMax = 15_000
    /// The limit of one attempt of `initialize`. The library asks the coordinator again after 500 ms if the last
    /// transaction of the id has not ended, but a new attempt asks at once.
    private static let initializeAttemptMillisecondsMax = 100
    /// The longest pause before the library connects to the coordinator again. A failed connection makes it look for
    /// another coordinator. With the pause of other clients, a transaction would begin up to 2 s after Kafka has one.
    private static let reconnectMillisecondsMax = 250
    /// The library's pause before it repeats a request.
    private static let retryBackoffMilliseconds = 5
    /// The pause before a call of the library is repeated.
    private static let retryPauseMicroseconds: UInt32 = 5000
    /// The pauses between polls while records are delivered: they double from the first to the second value.
    private static let pollPauseMicrosecondsMin: UInt32 = 50
    private static let pollPauseMicrosecondsMax: UInt32 = 1000

    let client: KafkaClient
    private let compressionOfTopics: [String: ProducerOptions.Compression]
    private var begunAt = Instant.now()
    /// The partitions that take no records now. Records for them are refused at once.
    var unavailablePartitions: Set<TopicPartition> = []
    private var refusedPartition: TopicPartition?
    /// Whether the queue stayed full for too long in this transaction.
    private(set) var isQueueStuck = false

    /// - Parameters:
    ///   - transactionalID: derived from the slot, so that no other living process has the same id.
    ///   - timeoutMilliseconds: the time after which the broker ends a transaction.
    ///   - name: the loop that uses this producer, such as `planner-0`. It is a label of the metrics.
    package init(
        settings: KafkaSettings, options: ProducerOptions = ProducerOptions(), transactionalID: String,
        timeoutMilliseconds: Int = TransactionalProducer.transactionMillisecondsMax, name: String,
        log: Log, metrics: Metrics
    ) throws(ConfigurationError) {
        var options = options
        // A transaction is sent as soon as it is complete. In the first call of each transaction the library
        // often finds that the previous one has not quite ended, and tries again. Its default back-off of 100
        // ms would delay that call.
        options.lingerMilliseconds = 0
        var configuration = try ClientConfiguration(settings)
        options.apply(to: &configuration)
        compressionOfTopics = options.compressionOfTopics
        configuration.set("transactional.id", to: transactionalID)
        configuration.set("transaction.timeout.ms", to: "\(timeoutMilliseconds)")
        configuration.set("retry.backoff.ms", to: "\(Self.retryBackoffMilliseconds)")
        if settings.properties["reconnect.backoff.max.ms"] == nil {
            configuration.set("reconnect.backoff.max.ms", to: "\(Self.reconnectMillisecondsMax)")
        }
        if settings.properties["socket.timeout.ms"] == nil {
            // The library refuses a limit that is longer than the transaction's, or shorter than 10 ms.
            let allowedMax = max(timeoutMilliseconds - 100, 10)
            configuration.set("socket.timeout.ms", to: "\(min(Self.responseMillisecondsMax, allowedMax))")
        }
        let events = ClientEvents(log: log, metrics: ClientMetrics(metrics: metrics, client: name))
        events.impliedAcknowledgements.attach(to: configuration)
        client = try KafkaClient(type: .transactionalProducer, configuration: configuration, events: events)
    }

    /// Returns a topic to send to. Make it once, at the start.
    package func topic(named name: String) throws(KafkaError) -> Topic {
        try Topic(name: name, client: client, compression: compressionOfTopics[name])
    }

    /// The error after which the producer must be replaced, if there was one.
    package var fatalError: KafkaError? { client.fatalError }

    /// Fences any earlier producer with this id and ends its open transaction.
    package func initialize(
        withinMilliseconds limit: Int = TransactionalProducer.initializeMillisecondsMax
    ) throws(TransactionFailure) {
        let deadline = Deadline(milliseconds: limit)
        try unsafe retry(.initialize, until: deadline) {
            let attemptMilliseconds = min(deadline.millisecondsLeft, Self.initializeAttemptMillisecondsMax)
            return unsafe rd_kafka_init_transactions(client.pointer, Int32(max(1, attemptMilliseconds)))
        }
    }

    /// Looks up the topics' partitions and connects to their leaders, so that the first transaction is as
    /// fast as the others. Call it before the stage reports that it is ready.
    package func connectToLeaders(of topics: [Topic], withinMilliseconds limit: Int = 5000) throws(KafkaError)
    {
        let deadline = Deadline(milliseconds: limit)
        var partitions: [TopicPartition] = []
        for topic in topics {
            partitions += try client.describe(topic, until: deadline).partitions.map {
                TopicPartition(topic.name, $0)
            }
        }
        _ = try client.watermarks(of: partitions, until: deadline)
    }

    /// Lets the client end in the background, because another producer replaces it.
    func endInBackground() { client.endInBackground() }

    /// Counts that another producer with the same id fenced this one.
    func countFence() { client.metrics.countTransaction(result: "fenced") }

    /// Begins a transaction.
    package func begin() throws(TransactionFailure) {
        begunAt = .now()
        _ = client.events.impliedAcknowledgements.takeCount()
        _ = client.events.impliedAcknowledgements.undeliveredPartitions.takeAll()
        (refusedPartition, isQueueStuck) = (nil, false)
        try unsafe perform(.begin) { unsafe rd_kafka_begin_transaction(client.pointer) }
    }

    /// Queues one record of the transaction. Key and value are copied.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?, timestamp: Int64 = 0
    ) -> SendResult {
        if refuses(topic, partition: partition) { return .refused(.notEnoughReplicas) }
        return unsafe client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY, headers: nil,
            tag: 0, timestamp: timestamp)
    }

    /// Queues one record with headers. The library takes the headers, unless the record was not queued.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: inout RecordHeaders, timestamp: Int64 = 0
    ) -> SendResult {
        if refuses(topic, partition: partition) { return .refused(.notEnoughReplicas) }
        return client.produce(
            to: topic, partition: partition, key: key, value: value, flags: RD_KAFKA_MSG_F_COPY,
            headers: &headers, tag: 0, timestamp: timestamp)
    }

    /// Queues one record with headers and a shared value. The value is not copied. It is kept until the
    /// transaction has ended.
    package func send(
        to topic: Topic, partition: Int32? = nil, key: Span<UInt8>?, body: SharedRecordValue,
        headers: inout RecordHeaders, timestamp: Int64 = 0
    ) -> SendResult {
        if refuses(topic, partition: partition) { return .refused(.notEnoughReplicas) }
        client.retain(body)
        return client.produce(
            to: topic, partition: partition, key: key, value: body.span, flags: 0, headers: &headers, tag: 0,
            timestamp: timestamp)
    }

    /// Whether the partition takes no records now. Then `takeRefusedPartition` returns it.
    private func refuses(_ topic: Topic, partition: Int32?) -> Bool {
        if unavailablePartitions.isEmpty { return false }
        guard let partition else { return false }
        let written = TopicPartition(topic.name, partition)
        guard unavailablePartitions.contains(written) else { return false }
        refusedPartition = written
        return true
    }

    /// Returns the unavailable partition to which a record of this transaction was sent, and forgets it.
    func takeRefusedPartition() -> TopicPartition? {
        defer { refusedPartition = nil }
        return refusedPartition
    }

    /// Waits until the queue has space after the result `full`. Returns false if the limit of a call passes first.
    package func waitForQueueSpace() -> Bool {
        let fullCount = outstandingRecords
        let deadline = Deadline(milliseconds: Self.callMillisecondsMax)
        while outstandingRecords >= fullCount {
            if deadline.millisecondsLeft == 0 {
                isQueueStuck = true
                return false
            }
            _ = unsafe rd_kafka_poll(client.pointer, 1)
        }
        return true
    }

    /// Adds the consumed offsets to the transaction.
    package func sendOffsets(
        _ offsets: [OffsetToCommit], for group: GroupMetadata,
        withinMilliseconds limit: Int = TransactionalProducer.callMillisecondsMax
    ) throws(TransactionFailure) {
        let deadline = Deadline(milliseconds: limit)
        let list = PartitionList(committing: offsets)
        try unsafe retry(.sendOffsets, until: deadline) {
            unsafe rd_kafka_send_offsets_to_transaction(
                client.pointer, list.pointer, group.pointer, max(1, deadline.libraryTimeoutMilliseconds))
        }
    }

    /// Delivers the queued records, then commits. If it throws, the error's `advice` tells whether the
    /// outcome is known.
    package func commit() throws(TransactionFailure) {
        try waitForDeliveries()
        let impliedCount = client.events.impliedAcknowledgements.takeCount()
        guard impliedCount == 0 else {
            throw TransactionFailure(
                operation: .flush, code: .outOfOrderSequence,
                text: "\(impliedCount) records were not acknowledged, but later ones were",
                errorClass: .abortable)
        }
        // The library repeats the request within the limit. The call is not repeated (`TransactionFailure.advice`).
        try unsafe perform(.commit) {
            unsafe rd_kafka_commit_transaction(client.pointer, Int32(Self.callMillisecondsMax))
        }
        client.releaseValues()
        client.metrics.recordCommittedTransaction(seconds: Instant.now().seconds(since: begunAt))
    }

    /// Aborts the transaction and drops its records.
    package func abort() throws(TransactionFailure) {
        client.metrics.countTransaction(result: "aborted")
        try unsafe perform(.abort) {
            unsafe rd_kafka_abort_transaction(client.pointer, Int32(Self.abortMillisecondsMax))
        }
        // The library drops unsent records. It has released their bodies only when its queue is empty.
        try waitForDeliveries()
        client.releaseValues()
    }

    /// Drops all records that no broker has acknowledged. The producer must be replaced afterwards, because it does not
    /// know which of them are stored.
    ///
    /// - Returns: the partitions of the records of this transaction that failed or were dropped.
    func discardUndelivered() -> Set<TopicPartition> {
        client.metrics.countTransaction(result: "aborted")
        _ = unsafe rd_kafka_purge(
            client.pointer,
            RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING)
        // The limit may pass before all records are dropped. Usually another record of the same partition has been
        // dropped by then, so its partition is known.
        try? waitForDeliveries(withinMilliseconds: Self.discardMillisecondsMax)
        return client.events.impliedAcknowledgements.undeliveredPartitions.takeAll()
    }

    /// The number of records that no broker has acknowledged yet.
    package var outstandingRecords: Int { Int(unsafe rd_kafka_outq_len(client.pointer)) }

    /// Serves errors, statistics and throttling. Call it also when idle.
    package func pollEvents() { _ = unsafe rd_kafka_poll(client.pointer, 0) }

    /// Waits until every record has an acknowledgement or an error. It polls in shorter steps than the
    /// library's own flush.
    private func waitForDeliveries(
        withinMilliseconds limit: Int = TransactionalProducer.callMillisecondsMax
    ) throws(TransactionFailure) {
        var deadline = Deadline(milliseconds: limit)
        var pauseMicroseconds = Self.pollPauseMicrosecondsMin
        var lastPoll = Instant.now()
        while outstandingRecords > 0 {
            let now = Instant.now()
            // A long gap between two polls shows that the process was suspended. Then the limit begins again.
            if now.milliseconds(since: lastPoll) >= limit / 2 { deadline = Deadline(milliseconds: limit) }
            lastPoll = now
            if deadline.millisecondsLeft == 0 {
                throw TransactionFailure(
                    operation: .flush, code: .timedOut,
                    text: "\(outstandingRecords) records were not acknowledged in time",
                    errorClass: .abortable)
            }
            pollEvents()
            usleep(pauseMicroseconds)
            pauseMicroseconds = min(pauseMicroseconds * 2, Self.pollPauseMicrosecondsMax)
        }
    }

    /// Calls the library, again while the failure advises it, until the deadline.
    private func retry(
        _ operation: TransactionFailure.Operation, until deadline: Deadline, call body: () -> OpaquePointer?
    ) throws(TransactionFailure) {
        while true {
            do {
                return try unsafe perform(operation, call: body)
            } catch {
                guard error.advice == .retryCall, deadline.millisecondsLeft > 0 else { throw error }
                pollEvents()
                usleep(Self.retryPauseMicroseconds)
            }
        }
    }

    /// Calls the library. The body returns its error, or nil after success.
    private func perform(
        _ operation: TransactionFailure.Operation, call body: () -> OpaquePointer?
    ) throws(TransactionFailure) {
        guard let error = unsafe body() else { return }
        defer { unsafe rd_kafka_error_destroy(error) }
        let errorClass: TransactionFailure.ErrorClass =
            if unsafe rd_kafka_error_is_fatal(error) != 0 {
                .fatal
            } else if unsafe rd_kafka_error_txn_requires_abort(error) != 0 {
                .abortable
            } else if unsafe rd_kafka_error_is_retriable(error) != 0 {
                .retriable
            } else {
                .unclassified
            }
        throw TransactionFailure(
            operation: operation, code: unsafe KafkaErrorCode(rd_kafka_error_code(error)),
            text: unsafe String(cString: rd_kafka_error_string(error)), errorClass: errorClass)
    }
}
