internal import CRdKafka
internal import Lifecycle

/// A reader of partitions of one topic, without a group. It shares the client of `SharedReaders` with other
/// readers, but has its own queue, limits, pauses and positions. It stays on one thread.
///
/// One loop serves it as a `Consumer`: wait for `descriptor`, poll, handle the events, process the batch. Poll once a
/// second at least. If a reader does not poll for three seconds, `ReaderClient` fetches nothing for it until it polls
/// again.
///
/// `+Partitions` begins and ends the reading of partitions.
@safe
package final class PartitionReader {
    package let topic: String
    let client: ReaderClient
    /// The queue of this reader's records.
    let queue: OpaquePointer
    let wakeup: WakeupDescriptor
    /// The results of `submit` and of the look-ups of beginnings and ends.
    let queryResults = QueryResults()
    let outOfRange: ConsumerOptions.OutOfRangePolicy
    var positions = ReaderPositions()
    /// The partitions that start when their offsets are known.
    var lookups = PositionLookups()
    private var fetchWakeup: FetchWakeupCounter
    private var isClosed = false

    init(
        of topic: String, outOfRange: ConsumerOptions.OutOfRangePolicy, client: ReaderClient
    ) throws {
        do {
            let handle = try Topic(name: topic, client: client.client)
            wakeup = try WakeupDescriptor()
            guard let queue = unsafe rd_kafka_queue_new(client.client.pointer) else {
                throw KafkaError(action: "make a reader of \(topic)", code: .state)
            }
            unsafe self.queue = queue
            self.topic = topic
            self.client = client
            self.outOfRange = outOfRange
            fetchWakeup = FetchWakeupCounter(
                prefetchKibibytesMax: ReaderClient.prefetchKibibytesMax,
                prefetchRecordsMax: client.prefetchRecordsMax)
            client.add(ObjectIdentifier(self), of: handle)
        } catch {
            client.unclaim(topic)
            throw error
        }
        unsafe wakeup.attach(to: queue)
    }

    deinit {
        close()
        unsafe rd_kafka_queue_destroy(queue)
    }

    /// A descriptor that is readable while there is something to poll.
    package var descriptor: Int32 { wakeup.descriptor }

    /// Gives the partitions back. The reader reads nothing after that.
    package func close() {
        if isClosed { return }
        isClosed = true
        release()
        unsafe rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
        client.remove(ObjectIdentifier(self))
    }

    // MARK: Polling

    /// Empties the batch, fills it with the available records, and returns the other events.
    ///
    /// - Parameter waitMilliseconds: The longest wait for the first record or event.
    package func poll(into batch: inout RecordBatch, waitMilliseconds: Int32 = 0) -> [ConsumerEvent] {
        batch.clear()
        if isClosed { return [] }
        if waitMilliseconds > 0 {
            _ = Consumer.wait(forAnyOf: [descriptor], milliseconds: waitMilliseconds)
        }
        wakeup.clear()
        client.recordPoll(of: ObjectIdentifier(self))
        var events = takeQueryResults()
        lookups.submitDueQuery(at: .now(), with: submit)
        while !batch.isFull, let message = unsafe rd_kafka_consume_queue(queue, 0) {
            if unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                unsafe batch.append(message, topic: 0, of: client.client)
            } else {
                unsafe handle(message, events: &events)
                unsafe rd_kafka_message_destroy(message)
            }
        }
        // A full batch may have left records in the queue.
        if batch.isFull { wakeup.signal() }
        if fetchWakeup.recordTaken(bytes: batch.byteCount, records: batch.count) { wakeFetching() }
        return events
    }

    /// Handles a message that is not a record.
    private func handle(_ message: UnsafeMutablePointer<rd_kafka_message_t>, events: inout [ConsumerEvent]) {
        let code = unsafe KafkaErrorCode(message.pointee.err)
        let partition = unsafe TopicPartition(topic, message.pointee.partition)
        guard positions.isReading(partition.partition) else { return }
        let text = unsafe rd_kafka_message_errstr(message).map { unsafe String(cString: $0) } ?? code.text
        switch code {
        case .partitionEnd: unsafe events.append(.reachedEnd(partition, offset: message.pointee.offset))
        case .autoOffsetReset:
            switch outOfRange {
            case .error: events.append(.failed(.outOfRange(partition, text: text)))
            case .earliest: restart([PartitionStart(partition: partition, position: .beginning)])
            }
        default:
            let error = KafkaError(action: "read \(partition)", code: code, text: text)
            events.append(.failed(.partition(partition, error)))
        }
    }

    // MARK: Offsets

    /// Submits a query without waiting. A later poll returns `.queryCompleted`.
    package func submit(_ query: OffsetQuery) -> OffsetQueryID {
        client.client.submit(query, to: queryResults, wakeup: wakeup)
    }

    /// Returns the watermarks. Waits for the leader's answer.
    package func watermarks(
        of partition: TopicPartition, withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> Watermarks {
        try client.client.watermarks(of: partition, until: Deadline(milliseconds: limit))
    }

    /// Returns the watermarks in the answer to the last fetch, or nil before the first one. Sends no request.
    package func knownWatermarks(of partition: TopicPartition) -> Watermarks? {
        client.client.knownWatermarks(of: partition)
    }

    /// Returns the cluster's id, or nil if no broker answers in time. Files that hold a topic's records store
    /// it.
    package func clusterID(withinMilliseconds limit: Int = 5000) -> String? {
        client.client.clusterID(until: Deadline(milliseconds: limit))
    }
}
