internal import CRdKafka

/// A reusable batch of records. `Consumer.poll` fills it, readers read the records in place, and all are
/// freed together. The batch owns the library's messages: it copies nothing and allocates nothing per record.
///
/// One record keeps its whole fetched block in memory. Do not keep batches: copy the bytes that you need.
@safe
package struct RecordBatch: ~Copyable {
    package static let recordsMaxDefault = 1000
    package static let bytesMaxDefault = 8 * 1024 * 1024

    package let recordsMax: Int
    /// The size at which a batch is full. The record that reaches it is the last one.
    package let bytesMax: Int
    /// Whether header bytes count. The library then parses and copies the headers of every record, so only
    /// readers that use all headers should set this.
    private let countsHeaderBytes: Bool
    package private(set) var count = 0
    /// The size of the keys and values, and of the values of headers if they count.
    private(set) var byteCount = 0
    /// The first `count` elements are the batch's messages, and the indexes of their topics.
    private let messages: UnsafeMutablePointer<UnsafeMutablePointer<rd_kafka_message_t>>
    private let topics: UnsafeMutablePointer<Int32>
    /// A reference that keeps the client alive as long as its messages.
    private var client: KafkaClient?

    package init(
        recordsMax: Int = RecordBatch.recordsMaxDefault, bytesMax: Int = RecordBatch.bytesMaxDefault,
        countsHeaders: Bool = false
    ) {
        precondition(recordsMax > 0 && bytesMax > 0, "a batch holds at least one record and one byte")
        self.recordsMax = recordsMax
        self.bytesMax = bytesMax
        countsHeaderBytes = countsHeaders
        unsafe messages = .allocate(capacity: recordsMax)
        unsafe topics = .allocate(capacity: recordsMax)
    }

    deinit {
        for index in 0..<count { unsafe rd_kafka_message_destroy(messages[index]) }
        unsafe messages.deallocate()
        unsafe topics.deallocate()
    }

    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count == recordsMax || byteCount >= bytesMax }

    /// Frees the records. The compiler ensures that no view of them is in use.
    package mutating func clear() {
        for index in 0..<count { unsafe rd_kafka_message_destroy(messages[index]) }
        count = 0
        byteCount = 0
        client = nil
    }

    package subscript(index: Int) -> Record {
        @_lifetime(borrow self)
        get {
            precondition(index >= 0 && index < count, "no record \(index) in a batch of \(count)")
            return unsafe _overrideLifetime(
                Record(message: messages[index], topic: topics[index]), borrowing: self)
        }
    }

    /// Takes over a message of the client.
    mutating func append(
        _ message: UnsafeMutablePointer<rd_kafka_message_t>, topic: Int32, of client: KafkaClient
    ) {
        if count == 0 { self.client = client }
        unsafe (messages + count).initialize(to: message)
        unsafe (topics + count).initialize(to: topic)
        unsafe byteCount += message.pointee.len + message.pointee.key_len
        count += 1
        guard countsHeaderBytes else { return }
        let headerBytes = self[count - 1].headers.valueByteCount
        byteCount += headerBytes
    }
}
