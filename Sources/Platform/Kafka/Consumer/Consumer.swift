internal import CRdKafka
internal import Glibc
package import Lifecycle
package import Telemetry

/// A reader of topics, either as a member of a group or alone. It stays on one thread.
///
/// One loop serves it: wait for `descriptor` (or in `poll`), poll, handle the events, process the batch. The
/// consumer never commits by itself, never skips records, and never decides where a partition begins.
///
/// Its extensions have the assignment of partitions (`+Assignment`), commits and other offsets (`+Offsets`),
/// and the wait for several consumers (`+Wait`).
///
/// If Kafka fences the client of a group member, the consumer reports `lost`, makes a new client after a
/// pause, and joins again.
package final class Consumer {
    private(set) var client: KafkaClient
    /// Makes a client. The argument is the descriptor of the client that it replaces.
    private let makeClient: (WakeupDescriptor?) throws(ConfigurationError) -> KafkaClient
    private var renewalBackoff = ClientRenewalBackoff(now: .now())
    let options: ConsumerOptions
    var assignment = AssignmentState()
    /// The partitions that start when their offsets are known.
    var lookups = PositionLookups()
    /// The partitions that the library has stopped, because their offset was out of range, and that start again.
    var stoppedPartitions: Set<TopicPartition> = []
    /// The topics whose leaders the library knows.
    var topicsWithKnownLeaders: Set<String> = []
    private var topicTable: TopicTable
    private var fetchWakeup: FetchWakeupCounter
    /// The time of the last poll. A large age shows that the process was suspended.
    package private(set) var lastPolledAt = Instant.now()

    /// - Parameter name: The loop that uses this consumer, such as `planner-0`. It is a label of the metrics.
    package init(
        settings: KafkaSettings, options: ConsumerOptions, name: String, log: Log, metrics: Metrics
    ) throws(ConfigurationError) {
        makeClient = { (wakeup) throws(ConfigurationError) in
            var configuration = try ClientConfiguration(settings)
            options.apply(to: &configuration)
            let events = ClientEvents(log: log, metrics: ClientMetrics(metrics: metrics, client: name))
            events.groupEvents.attach(to: configuration)
            return try KafkaClient(
                type: .consumer, configuration: configuration, events: events, wakeup: wakeup)
        }
        client = try makeClient(nil)
        self.options = options
        fetchWakeup = FetchWakeupCounter(
            prefetchKibibytesMax: options.prefetchKibibytesMax, prefetchRecordsMax: options.prefetchRecordsMax
        )
        if case .group(_, _, let topics) = options.membership {
            topicTable = TopicTable(names: topics)
        } else {
            topicTable = TopicTable(names: [])
        }
        try subscribe()
    }

    /// Joins the group, if there is one.
    private func subscribe() throws(ConfigurationError) {
        guard case .group(let group, _, let topics) = options.membership else { return }
        let list = PartitionList(topics.map { TopicPartition($0, RD_KAFKA_PARTITION_UA) })
        let code = unsafe KafkaErrorCode(rd_kafka_subscribe(client.pointer, list.pointer))
        guard code == .none else {
            throw ConfigurationError(problems: ["group \(group) cannot subscribe to \(topics): \(code.text)"])
        }
    }

    /// A descriptor that is readable while there is something to poll. Poll regularly anyway: a consumer that
    /// does not poll loses its partitions.
    package var descriptor: Int32 { client.wakeup.descriptor }

    /// The names of the topics. A record's `topic` is an index into this array. The subscribed topics come
    /// first, in their order.
    package var topics: [String] { topicTable.names }

    /// The error after which the client is unusable, if there was one.
    package var fatalError: KafkaError? { client.fatalError }

    /// Empties the batch, fills it with the available records, and returns the other events.
    ///
    /// - Parameter waitMilliseconds: The longest wait for the first record or event.
    package func poll(into batch: inout RecordBatch, waitMilliseconds: Int32 = 0) -> [ConsumerEvent] {
        batch.clear()
        client.wakeup.clear()
        var events: [ConsumerEvent] = []
        // This call detects a suspension between the polls, and the call below one during this poll.
        detectSuspension(since: lastPolledAt, allowedMilliseconds: 0, events: &events)
        guard ensureClient(waitMilliseconds: waitMilliseconds) else { return events }
        var wait = waitMilliseconds
        while !batch.isFull, let message = unsafe rd_kafka_consumer_poll(client.pointer, wait) {
            wait = 0
            if unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, assignment.pendingRebalance == nil {
                unsafe batch.append(message, topic: topicTable.index(of: message.pointee.rkt), of: client)
            } else {
                unsafe handle(message, events: &events)
                unsafe rd_kafka_message_destroy(message)
            }
        }
        if fetchWakeup.recordTaken(bytes: batch.byteCount, records: batch.count) { wakeFetching() }
        // A full batch or a callback may have left messages in the queue.
        if batch.isFull || !client.events.groupEvents.rebalanceChanges.isEmpty { client.wakeup.signal() }
        detectSuspension(since: lastPolledAt, allowedMilliseconds: Int(waitMilliseconds), events: &events)
        takeRebalanceChanges(into: &events)
        takeCommitOutcomes(into: &events)
        for (id, result) in client.queryResults.takeAll() {
            let isOfLookup = takeLookupResult(result, of: id, into: &events)
            if !isOfLookup { events.append(.queryCompleted(id, result)) }
        }
        lookups.submitDueQuery(at: lastPolledAt, with: client.submit)
        return events
    }

    /// Notes the time, and detects a suspension of the process: time that neither the caller's wait nor its
    /// work explains.
    private func detectSuspension(
        since lastTime: Instant, allowedMilliseconds: Int, events: inout [ConsumerEvent]
    ) {
        let now = Instant.now()
        let suspendedMilliseconds = now.milliseconds(since: lastTime) - allowedMilliseconds
        lastPolledAt = now
        guard suspendedMilliseconds >= options.sessionMilliseconds - Self.sessionMarginMilliseconds else {
            return
        }
        if case .group = options.membership, assignment.recordSuspension() {
            events.append(.suspended(milliseconds: suspendedMilliseconds))
        }
    }

    /// Handles a message that is not a record. Drops a record whose partition is being revoked, because the
    /// next owner reads it again.
    private func handle(_ message: UnsafeMutablePointer<rd_kafka_message_t>, events: inout [ConsumerEvent]) {
        let code = unsafe KafkaErrorCode(message.pointee.err)
        let partition = unsafe message.pointee.rkt.map { topic in
            unsafe TopicPartition(String(cString: rd_kafka_topic_name(topic)), message.pointee.partition)
        }
        let text = unsafe rd_kafka_message_errstr(message).map { unsafe String(cString: $0) } ?? code.text
        switch (code, partition) {
        case (.none, _): break
        case (.partitionEnd, let partition?):
            if assignment.pendingRebalance == nil {
                unsafe events.append(.reachedEnd(partition, offset: message.pointee.offset))
            }
        case (.autoOffsetReset, let partition?): handleOutOfRange(partition, text: text, events: &events)
        // The consumer was polled too late. The library reports the loss of its partitions in a later event.
        case (.maxPollExceeded, _): client.events.reportError(code, text: text, isFatal: false)
        case (.fatal, _):
            endClient(
                because: fatalError ?? KafkaError(action: "use this kafka client", code: code, text: text),
                events: &events)
        case (_, let partition?):
            events.append(
                .failed(
                    .partition(partition, KafkaError(action: "read \(partition)", code: code, text: text))))
        case (_, nil):
            events.append(.failed(.client(KafkaError(action: "read from kafka", code: code, text: text))))
        }
    }

    /// Starts a partition again at its beginning, or reports that its next record is gone.
    private func handleOutOfRange(_ partition: TopicPartition, text: String, events: inout [ConsumerEvent]) {
        switch options.outOfRange {
        case .error: events.append(.failed(.outOfRange(partition, text: text)))
        case .earliest:
            guard assignment.partitions.contains(partition) else { return }
            stoppedPartitions.insert(partition)
            lookups.add(PartitionStart(partition: partition, position: .beginning))
        }
    }

    func forgetTopicAddresses() { topicTable.forgetAddresses() }

    // MARK: A new client

    /// Whether the client has ended and its successor does not exist yet.
    var isClientEnded: Bool { renewalBackoff.dueAt != nil }

    /// Handles the end of the client. All partitions are lost at once, and nothing from them may be
    /// committed.
    private func endClient(because error: KafkaError, events: inout [ConsumerEvent]) {
        guard case .group = options.membership else { return events.append(.failed(.unusable(error))) }
        if isClientEnded { return }
        let pause = renewalBackoff.recordEnd(at: .now())
        client.events.log.warning(
            "kafka has ended this membership; a new client joins the group after a pause",
            .field("error", error), .field("milliseconds", pause))
        client.metrics.countRebalance(kind: "fenced")
        // The answers to open commits never come.
        for _ in 0..<assignment.openCommits {
            let outcome = CommitOutcome.willBeReadAgain(error.code)
            assignment.recordCommitOutcome(outcome)
            events.append(.committed([], outcome))
        }
        client.events.groupEvents.rebalanceChanges = []
        client.events.groupEvents.commitResults = []
        let partitions = Array(assignment.partitions)
        assignment.recordLoss(of: partitions)
        events.append(.lost(partitions))
    }

    /// Returns whether there is a client to poll. If its pause is over, makes a new client. Before that,
    /// waits as a poll would.
    private func ensureClient(waitMilliseconds: Int32) -> Bool {
        guard let dueAt = renewalBackoff.dueAt else { return true }
        let pauseMilliseconds = dueAt.milliseconds(since: .now())
        if pauseMilliseconds > 0 {
            usleep(UInt32(max(0, min(pauseMilliseconds, Int(waitMilliseconds)))) * 1000)
            return false
        }
        do throws(ConfigurationError) {
            let newClient = try makeClient(client.wakeup)
            client.endInBackground()
            client = newClient
            topicsWithKnownLeaders = []
            topicTable.forgetAddresses()
            try subscribe()
            renewalBackoff.recordRenewal(at: .now())
            return true
        } catch {
            let pause = renewalBackoff.recordEnd(at: .now())
            client.events.log.warning(
                "a new kafka client cannot be made now; trying again", .field("error", error.description),
                .field("milliseconds", pause))
            return false
        }
    }

    /// Leaves the group and waits for the library, at most for the limit, because without the cluster it
    /// would wait much longer. A static member stays in the group. Finish the work, commit and clear batches
    /// first.
    ///
    /// - Returns: False after the limit. Then the group learns of the end only by the session timeout.
    package func close(withinMilliseconds limit: Int = 5000) -> Bool {
        let deadline = Deadline(milliseconds: limit)
        if assignment.pendingRebalance != nil { try? release() }
        if let error = unsafe rd_kafka_consumer_close_queue(client.pointer, client.queue) {
            unsafe rd_kafka_error_destroy(error)
            return false
        }
        while unsafe rd_kafka_consumer_closed(client.pointer) == 0 {
            if deadline.millisecondsLeft == 0 { return false }
            if let message = unsafe rd_kafka_consumer_poll(
                client.pointer, min(deadline.libraryTimeoutMilliseconds, 20))
            {
                unsafe rd_kafka_message_destroy(message)
            }
            answerRevocationAtClose()
        }
        return true
    }
}
