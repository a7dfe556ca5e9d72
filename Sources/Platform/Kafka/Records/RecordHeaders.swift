internal import CRdKafka

/// The headers of a record to send, in order. Names may repeat. One scope owns them: sending hands them to
/// the library, otherwise they are freed.
@safe
package struct RecordHeaders: ~Copyable {
    /// Nil after the library has taken the headers.
    private var pointer: OpaquePointer?

    package init(capacity: Int = 8) { unsafe pointer = rd_kafka_headers_new(capacity) }

    private init(pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe pointer.map { unsafe rd_kafka_headers_destroy($0) } }

    /// Returns a copy, so that headers that many records share are added only once.
    package func copy() -> RecordHeaders { unsafe RecordHeaders(pointer: rd_kafka_headers_copy(pointer!)) }

    /// - Parameter value: The value, which is copied. Nil makes a header without a value, which differs from
    ///   an empty value.
    package mutating func add(_ name: StaticString, value: Span<UInt8>?) {
        unsafe withPointer(to: value) { bytes, count in
            _ = unsafe rd_kafka_header_add(
                pointer!, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
                name.utf8CodeUnitCount, bytes, count)
        }
    }

    /// Adds a header whose name comes from data, as for the copy of a record. The name ends at its first zero
    /// byte.
    package mutating func add(named name: Span<UInt8>, value: Span<UInt8>?) {
        unsafe withPointer(to: name) { nameBytes, nameCount in
            unsafe withPointer(to: value) { bytes, count in
                _ = unsafe rd_kafka_header_add(
                    pointer!, nameBytes?.assumingMemoryBound(to: CChar.self), nameCount, bytes, count)
            }
        }
    }

    /// Passes the headers to a call that takes ownership of them if it returns true.
    mutating func transferOwnership(to call: (OpaquePointer?) -> Bool) {
        if unsafe call(pointer) { unsafe pointer = nil }
    }
}

/// Calls `body` with the bytes. Kafka distinguishes null from empty: nil gives a null pointer, empty bytes
/// never do.
@inline(__always)
func withPointer<Result>(
    to bytes: Span<UInt8>?, body: (UnsafeRawPointer?, Int) -> Result
) -> Result {
    guard let bytes else { return body(nil, 0) }
    return unsafe bytes.withUnsafeBytes { buffer in
        // An empty span has no address. The library does not read the one that it gets instead.
        unsafe body(buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1), buffer.count)
    }
}
