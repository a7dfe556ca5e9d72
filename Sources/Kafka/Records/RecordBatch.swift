internal import CRdKafka

/// Records as they came, to be used again and again: filled by `Consumer.poll`, read in place,
/// freed together. It owns the library's messages; nothing is copied, nothing allocated per record.
///
/// One record keeps the fetched block it lies in alive: do not keep batches, keep what you need.
@safe
package struct RecordBatch: ~Copyable {
    package static let recordsMaxUsual = 1000
    package static let bytesMaxUsual = 8 * 1024 * 1024

    package let recordsMax: Int
    /// A batch ends with the record that reaches this.
    package let bytesMax: Int
    /// Whether headers count among the bytes. The library parses and copies them for it: for readers that look at all
    /// of them.
    private let isCountingHeaders: Bool
    package private(set) var count = 0
    private(set) var bytes = 0
    private let messages: UnsafeMutablePointer<UnsafeMutablePointer<rd_kafka_message_t>>
    private let topics: UnsafeMutablePointer<Int32>
    /// The client outlives its messages.
    private var client: Client?

    package init(
        recordsMax: Int = RecordBatch.recordsMaxUsual, bytesMax: Int = RecordBatch.bytesMaxUsual,
        countsHeaders: Bool = false
    ) {
        precondition(recordsMax > 0 && bytesMax > 0, "a batch has room")
        self.recordsMax = recordsMax
        self.bytesMax = bytesMax
        isCountingHeaders = countsHeaders
        unsafe messages = .allocate(capacity: recordsMax)
        unsafe topics = .allocate(capacity: recordsMax)
    }

    deinit {
        for index in 0..<count { unsafe rd_kafka_message_destroy(messages[index]) }
        unsafe messages.deallocate()
        unsafe topics.deallocate()
    }

    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count == recordsMax || bytes >= bytesMax }

    /// Frees the records. No view of them can be in use: the compiler sees to it.
    package mutating func clear() {
        for index in 0..<count { unsafe rd_kafka_message_destroy(messages[index]) }
        count = 0
        bytes = 0
        client = nil
    }

    package subscript(index: Int) -> Record {
        @_lifetime(borrow self)
        get {
            precondition(index >= 0 && index < count, "no record \(index) in a batch of \(count)")
            return unsafe _overrideLifetime(Record(messages[index], topic: topics[index]), borrowing: self)
        }
    }

    mutating func append(_ message: UnsafeMutablePointer<rd_kafka_message_t>, topic: Int32, of client: Client)
    {
        if count == 0 { self.client = client }
        unsafe (messages + count).initialize(to: message)
        unsafe (topics + count).initialize(to: topic)
        unsafe bytes += message.pointee.len + message.pointee.key_len
        count += 1
        guard isCountingHeaders else { return }
        let headers = self[count - 1].headers.bytes
        bytes += headers
    }
}
