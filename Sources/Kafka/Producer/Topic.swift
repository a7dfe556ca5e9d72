internal import CRdKafka

/// A topic that a producer sends to. Made once, at start; sending by it looks up no name.
@safe
package final class Topic: Sendable {
    package let name: String
    /// The library lets any thread use its topics.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// A topic ends before its client.
    private let client: Client

    /// - Parameter compression: nil for the client's own.
    init(
        _ name: String, of client: Client, compression: ProducerOptions.Compression? = nil
    ) throws(KafkaError) {
        let configuration = unsafe compression.flatMap { unsafe Self.configuration(of: client, $0) }
        guard let pointer = unsafe rd_kafka_topic_new(client.pointer, name, configuration) else {
            throw KafkaError("use topic \(name)", ErrorCode(rd_kafka_last_error()))
        }
        unsafe self.pointer = pointer
        self.name = name
        self.client = client
    }

    /// The client's, but for this. The topic frees it.
    private static func configuration(
        of client: Client, _ compression: ProducerOptions.Compression
    ) -> OpaquePointer? {
        let configuration = unsafe rd_kafka_default_topic_conf_dup(client.pointer)
        let result = unsafe rd_kafka_topic_conf_set(
            configuration, "compression.codec", compression.rawValue, nil, 0)
        precondition(result == RD_KAFKA_CONF_OK, "the library does not know \(compression.rawValue)")
        return unsafe configuration
    }

    deinit { unsafe rd_kafka_topic_destroy(pointer) }
}
