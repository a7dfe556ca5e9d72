internal import CRdKafka

/// A topic that a producer sends to. Made once, at start; sending by it looks up no name.
@safe
package final class Topic: Sendable {
    package let name: String
    /// The library lets any thread use its topics.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// A topic ends before its client.
    private let client: Client

    init(_ name: String, of client: Client) throws(KafkaError) {
        guard let pointer = unsafe rd_kafka_topic_new(client.pointer, name, nil) else {
            throw KafkaError("use topic \(name)", ErrorCode(rd_kafka_last_error()))
        }
        unsafe self.pointer = pointer
        self.name = name
        self.client = client
    }

    deinit { unsafe rd_kafka_topic_destroy(pointer) }
}
