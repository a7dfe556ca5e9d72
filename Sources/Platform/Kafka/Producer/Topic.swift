internal import CRdKafka

/// The library's handle of a topic. A producer makes it once, at the start, so that a send looks up no name.
@safe
package final class Topic: Sendable {
    package let name: String
    /// The handle. The library allows any thread to use its topics.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// A reference that keeps the client alive as long as its topic.
    private let client: KafkaClient

    /// - Parameter compression: the compression of the topic's records, or nil for the client's default.
    init(
        name: String, client: KafkaClient, compression: ProducerOptions.Compression? = nil
    ) throws(KafkaError) {
        let configuration = unsafe compression.flatMap {
            unsafe Self.configuration(of: client, compression: $0)
        }
        guard let pointer = unsafe rd_kafka_topic_new(client.pointer, name, configuration) else {
            throw KafkaError(action: "use topic \(name)", code: KafkaErrorCode(rd_kafka_last_error()))
        }
        unsafe self.pointer = pointer
        self.name = name
        self.client = client
    }

    /// Returns the client's topic configuration with another compression. The topic frees it.
    private static func configuration(
        of client: KafkaClient, compression: ProducerOptions.Compression
    ) -> OpaquePointer? {
        let configuration = unsafe rd_kafka_default_topic_conf_dup(client.pointer)
        let result = unsafe rd_kafka_topic_conf_set(
            configuration, "compression.codec", compression.rawValue, nil, 0)
        precondition(result == RD_KAFKA_CONF_OK, "the library does not know \(compression.rawValue)")
        return unsafe configuration
    }

    deinit { unsafe rd_kafka_topic_destroy(pointer) }
}
