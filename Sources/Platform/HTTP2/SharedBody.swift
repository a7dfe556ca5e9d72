/// The bytes of a message body, copied once and shared by all messages with this body. For example, a send to
/// a million tokens has one body. It is immutable.
@safe package final class SharedBody {
    let bytes: UnsafeRawBufferPointer

    package init(copying source: Span<UInt8>) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 16)
        unsafe source.withUnsafeBufferPointer { unsafe copy.copyBytes(from: $0) }
        unsafe bytes = UnsafeRawBufferPointer(copy)
    }

    deinit { unsafe bytes.deallocate() }

    package var count: Int { unsafe bytes.count }
}
