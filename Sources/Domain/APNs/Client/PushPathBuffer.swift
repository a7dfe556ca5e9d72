internal import Identifiers

/// A reused buffer for the two header values that differ between the pushes of a send: `apns-id`, and `:path`
/// (`/3/device/<token in hexadecimal digits>`). The HTTP/2 session copies both when it takes the request, so the next
/// push may overwrite them. A path is written for every push, eight digits at a time.
@safe struct PushPathBuffer: ~Copyable {
    private static let devicePath: StaticString = "/3/device/"
    /// An id and a device path have at most 558 bytes: 36, 10, and two digits for each byte of a token. The rest is
    /// space for fixed paths, which contain a bundle id.
    private static let bytesMax = 4_096

    private let bytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: PushPathBuffer.bytesMax, alignment: 1)

    deinit { unsafe bytes.deallocate() }

    /// Writes the path and the id. Both are valid until the next call.
    ///
    /// - Parameter token: empty for a fixed path.
    func write(
        _ kind: PushTemplate.PathKind, token: UnsafeBufferPointer<UInt8>, id: PushID
    ) -> (path: UnsafeBufferPointer<UInt8>, id: UnsafeBufferPointer<UInt8>) {
        switch kind {
        case .device:
            let prefix = Self.devicePath
            return unsafe write(
                prefix: UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount),
                token: token,
                id: id)
        case .fixed(let path):
            precondition(token.isEmpty, "a fixed path has no token")
            return unsafe path.withUnsafeBytes { unsafe write(prefix: $0, token: token, id: id) }
        }
    }

    /// Writes the id, the prefix of the path, and the digits of the token, one after the other.
    private func write(
        prefix: UnsafeRawBufferPointer, token: UnsafeBufferPointer<UInt8>, id: PushID
    ) -> (path: UnsafeBufferPointer<UInt8>, id: UnsafeBufferPointer<UInt8>) {
        let digitsStart = PushID.textBytes + prefix.count
        let end = digitsStart + 2 * token.count
        precondition(end <= Self.bytesMax, "the token and the path are too long for the buffer")
        unsafe id.write(to: bytes)
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[PushID.textBytes...]).copyMemory(from: prefix)
        unsafe Self.writeDigits(of: UnsafeRawBufferPointer(token), to: bytes, at: digitsStart)
        let written = unsafe UnsafeBufferPointer(
            start: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), count: end)
        return unsafe (
            UnsafeBufferPointer(rebasing: written[PushID.textBytes...]),
            UnsafeBufferPointer(rebasing: written[..<PushID.textBytes])
        )
    }

    /// Writes the hexadecimal digits of the token: of four bytes at a time, and then of the remaining bytes.
    private static func writeDigits(
        of token: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer, at start: Int
    ) {
        var index = 0
        while index + 4 <= token.count {
            let word = unsafe token.loadUnaligned(fromByteOffset: index, as: UInt32.self)
            unsafe out.storeBytes(of: Hex.digits(of: word), toByteOffset: start + 2 * index, as: UInt64.self)
            index += 4
        }
        while index < token.count {
            unsafe out[start + 2 * index] = Hex.digit(for: token[index] >> 4)
            unsafe out[start + 2 * index + 1] = Hex.digit(for: token[index] & 15)
            index += 1
        }
    }
}
