import CSimulatedLibrary
import Lifecycle

typealias RebalanceCallback =
    @convention(c) (
        OpaquePointer?, rd_kafka_resp_err_t, UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?,
        UnsafeMutableRawPointer?
    ) -> Void
typealias AcknowledgementCallback =
    @convention(c) (
        OpaquePointer?, UnsafeMutablePointer<rd_kafka_message_t>?, UnsafeMutableRawPointer?
    ) -> rd_kafka_resp_err_t

/// The properties of a client, as the product has set them.
struct ClientProperties {
    let isConsumer: Bool
    let group: String?
    let instance: String?
    let transactionalID: String?
    let sessionMilliseconds: Int
    let transactionMilliseconds: Int32
    let messageMilliseconds: Int
    let opaque: UnsafeMutableRawPointer?
    let onRebalance: RebalanceCallback?
    let onCommit: RebalanceCallback?
    let onAcknowledgement: AcknowledgementCallback?
    let acknowledgementOpaque: UnsafeMutableRawPointer?

    init(_ properties: simulated_properties_t) {
        isConsumer = properties.is_consumer
        group = properties.group.map { String(cString: $0) }
        instance = properties.instance.map { String(cString: $0) }
        transactionalID = properties.transactional_id.map { String(cString: $0) }
        sessionMilliseconds = Int(properties.session_milliseconds)
        transactionMilliseconds = properties.transaction_milliseconds
        messageMilliseconds = Int(properties.message_milliseconds)
        opaque = properties.opaque
        onRebalance = properties.on_rebalance
        onCommit = properties.on_commit
        onAcknowledgement = properties.on_acknowledgement
        acknowledgementOpaque = properties.acknowledgement_opaque
    }
}

/// A client of the library: what `rd_kafka_new` returns. It behaves as librdkafka does, on the virtual cluster.
final class SimulatedClient {
    /// The time from a request to its answer.
    static let roundTripMilliseconds = 1

    let properties: ClientProperties
    let cluster: VirtualCluster
    /// The process that made the client. When it dies, its clients do nothing any more.
    let process: SimulatedProcess
    var fatalError: (code: rd_kafka_resp_err_t, text: String)?
    /// Whether the loop has got the fatal error. It gets the error once.
    var isFatalErrorReported = false
    /// The handles that received messages point to.
    private var topicHandles: [String: OpaquePointer] = [:]

    // A consumer.
    var membership: GroupMembership?
    /// The partitions that are read, with the position in each.
    var reading: [Partition: ReadState] = [:]
    /// The partitions of each queue in their order. It is made again after a change of `reading`.
    var readingOrder: [UInt?: [Partition]] = [:]
    /// The place in that order at which the next search for a message begins.
    var nextRead = 0

    // A producer.
    var outbox: [QueuedRecord] = []
    var deliveries: [UnsafeMutablePointer<rd_kafka_message_t>] = []
    var transaction = ProducerState()

    /// The commits whose answers the loop does not have yet.
    var commits: [OffsetCommit] = []

    init(_ properties: ClientProperties, in process: SimulatedProcess) {
        self.properties = properties
        self.process = process
        cluster = process.world.cluster
        // The product gives this group to consumers without a group, because the library requires one.
        if properties.isConsumer, let group = properties.group, properties.onRebalance != nil,
            group != "flotilla-manual"
        {
            membership = GroupMembership(of: self, in: group)
        }
        process.clients.append(self)
    }

    /// Whether the process is dead. Its code may still run to the end of an iteration, without any effect.
    var isDead: Bool { process.isDead }

    var pointer: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// Returns the client of a call of the library. A process can die in such a call.
    static func from(_ pointer: OpaquePointer?) -> SimulatedClient {
        let client = Unmanaged<SimulatedClient>.fromOpaque(UnsafeRawPointer(pointer!)).takeUnretainedValue()
        client.process.noteCall()
        return client
    }

    /// Does what the threads of the library do without a call of the loop.
    func serve() {
        membership?.serve()
        serveCommits()
        if properties.transactionalID == nil {
            servePublishing()
            if !deliveries.isEmpty { process.wake() }
        }
    }

    func topicHandle(of name: String) -> OpaquePointer? {
        if let handle = topicHandles[name] { return handle }
        let handle = rd_kafka_topic_new(pointer, name, nil)
        topicHandles[name] = handle
        return handle
    }

    /// Lets the time of a request pass.
    func passRoundTrip() { MachineClock.advance(milliseconds: Self.roundTripMilliseconds) }

    /// Ends the client.
    func end() {
        for message in deliveries { rd_kafka_message_destroy(message) }
        deliveries = []
        process.clients.removeAll { $0 === self }
        membership = nil
        stopReading { _ in true }
    }
}
