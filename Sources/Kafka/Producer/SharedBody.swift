/// Bytes that many records of a transaction share: sent without a copy, and kept alive by the
/// transaction until it has committed or aborted.
///
/// `@unchecked Sendable`: its bytes are written once, before anybody else sees them.
@safe
package final class SharedBody: @unchecked Sendable {
    let bytes: UnsafeMutableBufferPointer<UInt8>

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
