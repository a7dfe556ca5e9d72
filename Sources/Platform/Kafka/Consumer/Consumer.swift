internal import CRdKafka
internal import Glibc
package import Lifecycle
package import Telemetry

/// A reader of topics, either as a member of a group or alone. It stays on one thread.
///
/// One loop serves it: wait for `descriptor` (or in `poll`), poll, handle the events, process the batch. The
/// consumer never commits by itself, never skips records, and never decides where a partition begins.
///
/// If Kafka fences the client of a group member, the consumer reports `lost`, makes a new client after a
/// pause, and joins again.
package final class Consumer {
    private(set) var client: Client
    private let makeClient: (Wakeup?) throws(ConfigurationError) -> Client
    private var renewal = ClientRenewal(now: .now())
    let options: ConsumerOptions
    var state = AssignmentState()
    /// The topics whose leaders the library knows.
    var described: Set<String> = []
    private var table: TopicTable
    private var fetchPause: FetchPause
    /// The time of the last poll. Its age shows that the process was stopped.
    package private(set) var lastPoll = Instant.now()

    /// - Parameter name: The loop that uses this consumer, such as `planner-0`. It is a label of the metrics.
    package init(
        _ settings: KafkaSettings, _ options: ConsumerOptions, name: String, log: Log, metrics: Metrics
    ) throws(ConfigurationError) {
        makeClient = { (wakeup) throws(ConfigurationError) in
            var configuration = try Configuration(settings)
            options.apply(to: &configuration)
            let events = ClientEvents(log: log, metrics: ClientMetrics(metrics, client: name))
            events.group.attach(to: configuration)
            return try Client(.consumer, configuration, events: events, wakeup: wakeup)
        }
        client = try makeClient(nil)
        self.options = options
        fetchPause = FetchPause(
            prefetchKibibytesMax: options.prefetchKibibytesMax, prefetchRecordsMax: options.prefetchRecordsMax
        )
        if case .group(_, _, let topics) = options.membership {
            table = TopicTable(topics)
        } else {
            table = TopicTable([])
        }
        try subscribe()
    }

    private func subscribe() throws(ConfigurationError) {
        guard case .group(let group, _, let topics) = options.membership else { return }
        let list = PartitionList(topics.map { TopicPartition($0, RD_KAFKA_PARTITION_UA) })
        let code = unsafe ErrorCode(rd_kafka_subscribe(client.pointer, list.pointer))
        guard code == .none else {
            throw ConfigurationError(["group \(group) cannot subscribe to \(topics): \(code.text)"])
        }
    }

    /// A descriptor that is readable while there is something to poll. Poll regularly anyway: a consumer that
    /// does not poll loses its partitions.
    package var descriptor: Int32 { client.wakeup.descriptor }

    /// Topic names. A record's `topic` is an index into this array. The subscribed topics come first, in
    /// their order.
    package var topics: [String] { table.names }

    package var fatalError: KafkaError? { client.fatalError }

    /// Empties the batch, fills it with the available records, and returns the other events.
    ///
    /// - Parameter waitMilliseconds: The longest wait for the first record or event.
    package func poll(into batch: inout RecordBatch, waitMilliseconds: Int32 = 0) -> [ConsumerEvent] {
        batch.clear()
        client.wakeup.clear()
        var events: [ConsumerEvent] = []
        noteStop(since: lastPoll, allowedMilliseconds: 0, &events)
        guard isUsable(waitMilliseconds: waitMilliseconds) else { return events }
        var wait = waitMilliseconds
        while !batch.isFull, let message = unsafe rd_kafka_consumer_poll(client.pointer, wait) {
            wait = 0
            if unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, state.pending == nil {
                unsafe batch.append(message, topic: table.index(of: message.pointee.rkt), of: client)
            } else {
                unsafe hear(message, &events)
                unsafe rd_kafka_message_destroy(message)
            }
        }
        if fetchPause.took(bytes: batch.bytes, records: batch.count) { wakeFetching() }
        // A full batch or a callback may have left messages in the queue.
        if batch.isFull || !client.events.group.changes.isEmpty { client.wakeup.signal() }
        noteStop(since: lastPoll, allowedMilliseconds: Int(waitMilliseconds), &events)
        takeChanges(&events)
        takeCommits(&events)
        for (id, answer) in client.received.take() { events.append(.answered(id, answer)) }
        return events
    }

    /// Detects a stop of the process: time that neither the caller's wait nor its work explains.
    private func noteStop(since last: Instant, allowedMilliseconds: Int, _ events: inout [ConsumerEvent]) {
        let now = Instant.now()
        let stopped = now.milliseconds(since: last) - allowedMilliseconds
        lastPoll = now
        guard stopped >= options.sessionMilliseconds - Self.leaseMarginMilliseconds else { return }
        if case .group = options.membership, state.suspended() {
            events.append(.suspended(milliseconds: stopped))
        }
    }

    /// Handles a message that is not a record. Drops a record whose partition is being revoked, because the
    /// next owner reads it again.
    private func hear(_ message: UnsafeMutablePointer<rd_kafka_message_t>, _ events: inout [ConsumerEvent]) {
        let code = unsafe ErrorCode(message.pointee.err)
        let partition = unsafe message.pointee.rkt.map { topic in
            unsafe TopicPartition(String(cString: rd_kafka_topic_name(topic)), message.pointee.partition)
        }
        let text = unsafe rd_kafka_message_errstr(message).map { unsafe String(cString: $0) } ?? code.text
        switch (code, partition) {
        case (.none, _): break
        case (.partitionEnd, let partition?):
            if state.pending == nil { unsafe events.append(.end(partition, offset: message.pointee.offset)) }
        case (.autoOffsetReset, let partition?): events.append(.failed(.outOfRange(partition, text: text)))
        // The library reports the loss itself in a later event.
        case (.maxPollExceeded, _): client.events.failed(code, text, fatal: false)
        case (.fatal, _):
            end(fatalError ?? KafkaError("use this kafka client", code, text: text), &events)
        case (_, let partition?):
            events.append(.failed(.partition(partition, KafkaError("read \(partition)", code, text: text))))
        case (_, nil): events.append(.failed(.client(KafkaError("read from kafka", code, text: text))))
        }
    }

    func forgetAddresses() { table.forgetAddresses() }

    // MARK: A new client

    /// Whether the client has ended and its successor does not exist yet.
    var isEnded: Bool { renewal.dueAt != nil }

    /// Handles the end of the client. All partitions are lost at once, and nothing from them may be
    /// committed.
    private func end(_ error: KafkaError, _ events: inout [ConsumerEvent]) {
        guard case .group = options.membership else { return events.append(.failed(.rebuild(error))) }
        if isEnded { return }
        let pause = renewal.ended(at: .now())
        client.events.log.warning(
            "kafka has ended this membership; a new client joins the group after a pause",
            .field("error", error), .field("milliseconds", pause))
        client.metrics.rebalanced("fenced")
        // The answers to open commits never come.
        for _ in 0..<state.commitsOpen {
            let outcome = CommitOutcome.willBeReadAgain(error.code)
            state.commitAnswered(outcome)
            events.append(.committed([], outcome))
        }
        client.events.group.changes = []
        client.events.group.commits = []
        let partitions = Array(state.partitions)
        state.lost(partitions)
        events.append(.lost(partitions))
    }

    /// Returns whether there is a client to poll. Without one, the call waits as a poll would, and makes a
    /// new client when it is due.
    private func isUsable(waitMilliseconds: Int32) -> Bool {
        guard let due = renewal.dueAt else { return true }
        let left = due.milliseconds(since: .now())
        if left > 0 {
            usleep(UInt32(max(0, min(left, Int(waitMilliseconds)))) * 1000)
            return false
        }
        do throws(ConfigurationError) {
            let fresh = try makeClient(client.wakeup)
            client.replace()
            client = fresh
            described = []
            table.forgetAddresses()
            try subscribe()
            renewal.renewed(at: .now())
            return true
        } catch {
            let pause = renewal.ended(at: .now())
            client.events.log.warning(
                "a new kafka client cannot be made now; trying again", .field("error", error.description),
                .field("milliseconds", pause))
            return false
        }
    }

    /// Leaves the group and waits for the library, at most for the limit, because without the cluster it
    /// would wait much longer. A static member stays in the group. Drain, commit and clear batches first.
    /// Returns false after the limit; then the group notices by the session timeout.
    package func close(withinMilliseconds limit: Int = 5000) -> Bool {
        let deadline = Deadline(milliseconds: limit)
        if state.pending != nil { try? release() }
        if let error = unsafe rd_kafka_consumer_close_queue(client.pointer, client.queue) {
            unsafe rd_kafka_error_destroy(error)
            return false
        }
        while unsafe rd_kafka_consumer_closed(client.pointer) == 0 {
            if deadline.millisecondsLeft == 0 { return false }
            if let message = unsafe rd_kafka_consumer_poll(client.pointer, min(deadline.forCall, 20)) {
                unsafe rd_kafka_message_destroy(message)
            }
            answerAtClose()
        }
        return true
    }
}
