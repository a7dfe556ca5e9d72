/// A value that many records of a transaction share. It is sent without a copy. The transaction keeps it
/// alive until it has committed or aborted.
@safe
package final class SharedRecordValue: Sendable {
    /// The bytes. They are written once, before other threads can see them.
    nonisolated(unsafe) let bytes: UnsafeMutableBufferPointer<UInt8>

    package init(copying source: Span<UInt8>) {
        unsafe bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: source.count)
        for index in source.indices { unsafe bytes[index] = source[index] }
    }

    deinit { unsafe bytes.deallocate() }

    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(Span(_unsafeElements: UnsafeBufferPointer(bytes)), borrowing: self) }
    }
}
