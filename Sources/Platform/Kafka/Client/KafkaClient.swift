internal import CRdKafka
internal import Glibc
internal import Synchronization
internal import Telemetry

/// The owner of a library client, from `rd_kafka_new` to `rd_kafka_destroy`.
///
/// "The rd_kafka_t handle is thread-safe", says the library's introduction, so any thread may call it. Every
/// object that still holds a part of it, such as a batch of records, also holds this object. Hence
/// `@unchecked Sendable`.
@safe
final class KafkaClient: @unchecked Sendable {
    /// The longest wait for the client's end. A client that takes longer stays until the process ends.
    static let destroyMillisecondsMax = 5000

    /// A client of `readers` has no group. Its readers have their own queues.
    enum ClientType { case producer, transactionalProducer, consumer, readers }

    let pointer: OpaquePointer
    let events: ClientEvents
    let wakeup: WakeupDescriptor
    /// The results of `submit`.
    let queryResults = QueryResults()
    /// The queue that an event loop waits on and polls.
    let queue: OpaquePointer
    /// Values that the library reads without a copy. Only the thread that runs transactions uses this.
    private var retainedValues: [SharedRecordValue] = []
    /// Whether to skip the wait for this client's end, because another client takes its place.
    private let endsInBackground = Atomic<Bool>(false)

    /// - Parameter wakeup: The descriptor of the client that this one replaces; nil makes a new one.
    init(
        type: ClientType, configuration: consuming ClientConfiguration, events: ClientEvents,
        wakeup: WakeupDescriptor? = nil
    ) throws(ConfigurationError) {
        if let wakeup { self.wakeup = wakeup } else { self.wakeup = try WakeupDescriptor() }
        self.events = events
        events.attach(to: configuration)
        LibraryThreadTimers.attach(
            to: configuration, slack: type == .transactionalProducer ? .transactionalProducer : .otherClients)
        let properties = try unsafe configuration.takePointer()
        let libraryType =
            switch type {
            case .consumer, .readers: RD_KAFKA_CONSUMER
            case .producer, .transactionalProducer: RD_KAFKA_PRODUCER
            }
        var client: OpaquePointer?
        let reason = unsafe libraryText { unsafe client = rd_kafka_new(libraryType, properties, $0, $1) }
        guard let pointer = unsafe client else {
            // The properties leak, some kilobytes. They share interceptors with the client that was not made.
            // The library has already freed those, and would free them again with the properties (2.0.2).
            throw ConfigurationError(problems: [
                "cannot make a kafka client: \(reason); check the kafka settings"
            ])
        }
        unsafe self.pointer = pointer
        if type == .consumer { unsafe rd_kafka_poll_set_consumer(pointer) }
        unsafe queue =
            type == .consumer ? rd_kafka_queue_get_consumer(pointer) : rd_kafka_queue_get_main(pointer)
        unsafe self.wakeup.attach(to: queue)
    }

    deinit {
        unsafe rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
        unsafe rd_kafka_queue_destroy(queue)
        let destruction = unsafe ClientDestruction(
            pointer: pointer, events: events, retainedValues: retainedValues)
        if endsInBackground.load(ordering: .acquiring) {
            _ = destruction.run(withinMilliseconds: 0)
        } else if !destruction.run(withinMilliseconds: Self.destroyMillisecondsMax) {
            events.log.warning("kafka client did not end in time; it stays until the process ends")
        }
    }

    /// Lets this client end in the background.
    func endInBackground() { endsInBackground.store(true, ordering: .releasing) }

    /// Keeps the value until the transaction has ended. Records that share a value often follow each other.
    func retain(_ value: SharedRecordValue) {
        if retainedValues.last !== value { retainedValues.append(value) }
    }

    /// Releases the kept values. Call it only when the library's queue is empty.
    func releaseValues() { retainedValues.removeAll(keepingCapacity: true) }

    var metrics: ClientMetrics { events.metrics }

    /// The error after which this client is unusable, if there was one.
    var fatalError: KafkaError? {
        var code = RD_KAFKA_RESP_ERR_NO_ERROR
        let text = unsafe libraryText { code = unsafe rd_kafka_fatal_error(pointer, $0, $1) }
        return code == RD_KAFKA_RESP_ERR_NO_ERROR
            ? nil : KafkaError(action: "use this kafka client", code: KafkaErrorCode(code), text: text)
    }
}

/// Returns the text that a call writes into a buffer.
private func libraryText(writtenBy call: (UnsafeMutablePointer<CChar>, Int) -> Void) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
        unsafe buffer.initialize(repeating: 0)
        unsafe call(buffer.baseAddress!, buffer.count)
        return unsafe String(cString: buffer.baseAddress!)
    }
}
