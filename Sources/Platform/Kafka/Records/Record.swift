internal import CRdKafka

/// One record of a batch, read in place. It cannot outlive the batch's next change.
@safe
package struct Record: ~Escapable {
    /// The topic's index in the consumer's `topics`.
    package let topic: Int
    package let partition: Int32
    package let offset: Int64
    private let message: UnsafeMutablePointer<rd_kafka_message_t>

    @_lifetime(immortal)
    init(message: UnsafeMutablePointer<rd_kafka_message_t>, topic: Int32) {
        unsafe self.message = message
        self.topic = Int(topic)
        unsafe partition = message.pointee.partition
        unsafe offset = message.pointee.offset
    }

    /// The value, or nil for a tombstone. An empty value is not nil.
    package var value: Span<UInt8>? {
        @_lifetime(copy self)
        get {
            unsafe _overrideLifetime(
                span(start: message.pointee.payload, count: message.pointee.len), copying: self)
        }
    }

    /// The key, or nil if the record has none. An empty key is not nil.
    package var key: Span<UInt8>? {
        @_lifetime(copy self)
        get {
            unsafe _overrideLifetime(
                span(start: message.pointee.key, count: message.pointee.key_len), copying: self)
        }
    }

    /// The timestamp in milliseconds since 1970, or nil if the record has none.
    package var timestamp: Int64? {
        var type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let timestamp = unsafe rd_kafka_message_timestamp(message, &type)
        return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? nil : timestamp
    }

    /// Whether the cluster set the timestamp (`LogAppendTime`), and not the producer.
    package var isStampedByCluster: Bool {
        var type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        _ = unsafe rd_kafka_message_timestamp(message, &type)
        return type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME
    }

    /// The headers. The library parses them at the first access and keeps them with the record.
    package var headers: RecordHeaderList {
        @_lifetime(copy self)
        get {
            var headers: OpaquePointer?
            let code = unsafe rd_kafka_message_headers(message, &headers)
            let list = unsafe RecordHeaderList(pointer: code == RD_KAFKA_RESP_ERR_NO_ERROR ? headers : nil)
            return unsafe _overrideLifetime(list, copying: self)
        }
    }
}

/// Returns the bytes at an address, or nil for a null pointer. Only the pointer tells null from empty. The
/// caller limits the span's lifetime.
@_lifetime(immortal)
func span(start bytes: UnsafeRawPointer?, count: Int) -> Span<UInt8>? {
    guard let bytes = unsafe bytes else { return nil }
    let buffer = unsafe UnsafeBufferPointer(start: bytes.assumingMemoryBound(to: UInt8.self), count: count)
    return unsafe _overrideLifetime(Span(_unsafeElements: buffer), copying: ())
}
