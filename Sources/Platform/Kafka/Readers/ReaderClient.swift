internal import CRdKafka
internal import Lifecycle
internal import Telemetry

/// A client of the library that several readers share, each on its own thread and with its own queue.
///
/// All calls that begin or end the reading of a partition are made under one lock, because the library does
/// not allow two ends of the same partition at a time.
///
/// A record keeps the whole answer of a broker in memory, with the records of other readers in it. A reader
/// that has stopped to poll would keep one answer after the other, although its own records are few. So its
/// partitions are parked: the library drops their fetched records and fetches no more until the reader polls
/// again.
final class ReaderClient: Sendable {
    /// The time without a poll after which a reader is parked. Readers poll once a second at least.
    static let parkAfterMilliseconds = 3000
    /// The interval between two services of the client. The polls of all readers perform them.
    private static let serviceMilliseconds = 200

    /// The limits of one reader's fetched records. Beyond them its partitions are not fetched, and those of
    /// other readers are.
    static let prefetchKibibytesMax = 8192
    /// The limit of one broker's answer, as sent, possibly compressed.
    private static let fetchKibibytesMax = 4096
    /// The limit of one partition in an answer, so that an answer holds records of several partitions.
    private static let partitionKibibytesMax = 512
    /// The longest wait of a fetch for new records. A partition that starts waits until the previous
    /// fetch has ended. The readers of a process share these fetches, so they cost little.
    private static let fetchMilliseconds = 100

    private struct ReaderState {
        let topic: Topic
        /// The partitions that the library reads for this reader.
        var partitions: Set<Int32> = []
        var lastPolledAt: Instant
        var isParked = false
    }

    private struct SharedState {
        /// The topics of the readers. A reader claims its topic before it exists.
        var claimedTopics: Set<String> = []
        var readers: [ObjectIdentifier: ReaderState] = [:]
        var nextService = Instant(nanoseconds: 0)
    }

    let client: KafkaClient
    let prefetchRecordsMax: Int
    private let state = TracedLock(SharedState())

    init(
        settings: KafkaSettings, name: String, log: Log, metrics: Metrics
    ) throws(ConfigurationError) {
        var options = ConsumerOptions(membership: .readers)
        options.prefetchKibibytesMax = Self.prefetchKibibytesMax
        options.fetchKibibytesMax = Self.fetchKibibytesMax
        options.partitionKibibytesMax = Self.partitionKibibytesMax
        options.fetchWaitMilliseconds = Self.fetchMilliseconds
        prefetchRecordsMax = options.prefetchRecordsMax
        var configuration = try ClientConfiguration(settings)
        options.apply(to: &configuration)
        client = try KafkaClient(
            type: .readers, configuration: configuration,
            events: ClientEvents(log: log, metrics: ClientMetrics(metrics: metrics, client: name)))
    }

    // MARK: Readers

    /// Reserves the topic for a reader. Returns false if the client has a reader of this topic.
    func claim(_ topic: String) -> Bool { state.withLock { $0.claimedTopics.insert(topic).inserted } }

    /// Gives up a claim whose reader could not be made.
    func unclaim(_ topic: String) { state.withLock { _ = $0.claimedTopics.remove(topic) } }

    func add(_ reader: ObjectIdentifier, of topic: Topic) {
        state.withLock { $0.readers[reader] = ReaderState(topic: topic, lastPolledAt: .now()) }
    }

    /// Removes a reader after it has stopped its partitions.
    func remove(_ reader: ObjectIdentifier) {
        state.withLock { state in
            guard let removed = state.readers.removeValue(forKey: reader) else { return }
            state.claimedTopics.remove(removed.topic.name)
        }
    }

    // MARK: Partitions

    /// Begins to read a partition into the queue of a reader.
    ///
    /// - Parameter offset: an offset, never a beginning or an end. If the library looks one up, its late
    ///   answer can move a partition that was stopped and started again meanwhile.
    func start(
        _ partition: Int32, at offset: Int64, for reader: ObjectIdentifier, into queue: OpaquePointer
    ) {
        precondition(offset >= 0, "a shared client starts at an offset that is known: \(offset)")
        state.withLock { state in
            unpark(reader, in: &state)
            guard let topic = state.readers[reader]?.topic else { return }
            if unsafe rd_kafka_consume_start_queue(topic.pointer, partition, offset, queue) == 0 {
                state.readers[reader]?.partitions.insert(partition)
            }
        }
    }

    /// Stops a partition. No record of it comes after the call.
    func stop(_ partition: Int32, for reader: ObjectIdentifier) {
        state.withLock { state in
            unpark(reader, in: &state)
            guard state.readers[reader]?.partitions.remove(partition) != nil,
                let topic = state.readers[reader]?.topic
            else { return }
            _ = unsafe rd_kafka_consume_stop(topic.pointer, partition)
        }
    }

    // MARK: Service

    /// Notes that a reader polls, ends its parking, and serves the client from time to time.
    func recordPoll(of reader: ObjectIdentifier, at now: Instant = .now()) {
        state.withLock { state in
            state.readers[reader]?.lastPolledAt = now
            unpark(reader, in: &state)
            serve(&state, at: now)
        }
    }

    /// Serves the client for an owner that has no partitions.
    func serve(at now: Instant = .now()) { state.withLock { serve(&$0, at: now) } }

    private func serve(_ state: inout SharedState, at now: Instant) {
        guard now >= state.nextService else { return }
        state.nextService = now.advanced(byMilliseconds: Self.serviceMilliseconds)
        // Errors and statistics. The callbacks run here, under the lock.
        _ = unsafe rd_kafka_poll(client.pointer, 0)
        parkSilentReaders(in: &state, at: now)
    }

    private func parkSilentReaders(in state: inout SharedState, at now: Instant) {
        for (id, reader) in state.readers
        where !reader.isParked && !reader.partitions.isEmpty
            && now.milliseconds(since: reader.lastPolledAt) >= Self.parkAfterMilliseconds
        {
            state.readers[id]?.isParked = true
            let list = Self.list(of: reader)
            _ = unsafe rd_kafka_pause_partitions(client.pointer, list.pointer)
        }
    }

    private func unpark(_ id: ObjectIdentifier, in state: inout SharedState) {
        guard let reader = state.readers[id], reader.isParked else { return }
        state.readers[id]?.isParked = false
        let list = Self.list(of: reader)
        _ = unsafe rd_kafka_resume_partitions(client.pointer, list.pointer)
    }

    private static func list(of reader: ReaderState) -> PartitionList {
        PartitionList(reader.partitions.map { TopicPartition(reader.topic.name, $0) })
    }

    /// The number of parked readers.
    var parkedCount: Int { state.withLock { $0.readers.values.count { $0.isParked } } }
}
