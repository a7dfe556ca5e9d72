internal import CRdKafka

/// The headers of a record to be sent, in order; names may repeat. Owned by one scope: sending
/// hands them to the library, otherwise they are freed.
@safe
package struct RecordHeaders: ~Copyable {
    /// Nil once the library owns them.
    private var pointer: OpaquePointer?

    package init(capacity: Int = 8) { unsafe pointer = rd_kafka_headers_new(capacity) }

    private init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe pointer.map { unsafe rd_kafka_headers_destroy($0) } }

    /// The same headers once more: what many records share is added once and copied.
    package func copy() -> RecordHeaders { unsafe RecordHeaders(rd_kafka_headers_copy(pointer!)) }

    /// - Parameter value: copied. Nil is a header without a value, which is not an empty value.
    package mutating func add(_ name: StaticString, _ value: Span<UInt8>?) {
        unsafe withPointer(to: value) { bytes, count in
            _ = unsafe rd_kafka_header_add(
                pointer!, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
                name.utf8CodeUnitCount, bytes, count)
        }
    }

    /// For names that come from the data, as a dead letter's do. A name ends at its first zero byte.
    package mutating func add(named name: Span<UInt8>, _ value: Span<UInt8>?) {
        unsafe withPointer(to: name) { nameBytes, nameCount in
            unsafe withPointer(to: value) { bytes, count in
                _ = unsafe rd_kafka_header_add(
                    pointer!, nameBytes?.assumingMemoryBound(to: CChar.self), nameCount, bytes, count)
            }
        }
    }

    /// Lends the headers to a call that takes them over when it succeeds.
    mutating func offer(_ call: (OpaquePointer?) -> Bool) {
        if unsafe call(pointer) { unsafe pointer = nil }
    }
}

/// Null and empty are different things to Kafka: nil gives a null pointer, empty bytes never do.
@inline(__always)
func withPointer<Result>(
    to bytes: Span<UInt8>?, _ body: (UnsafeRawPointer?, Int) -> Result
) -> Result {
    guard let bytes else { return body(nil, 0) }
    return unsafe bytes.withUnsafeBytes { buffer in
        unsafe body(buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1), buffer.count)
    }
}
