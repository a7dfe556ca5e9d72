/// The bytes of a message body, copied once and then read by every message that carries them:
/// a send to a million tokens has one body. They never change.
@safe package final class SharedBody {
    let bytes: UnsafeRawBufferPointer

    package init(_ source: Span<UInt8>) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 16)
        unsafe source.withUnsafeBufferPointer { unsafe copy.copyBytes(from: $0) }
        unsafe bytes = UnsafeRawBufferPointer(copy)
    }

    deinit { unsafe bytes.deallocate() }

    package var count: Int { unsafe bytes.count }
}
