/// A buffer for the two texts that differ between the pushes of a send: the id and the path
/// (`/3/device/<token in hexadecimal digits>`). The session copies them from there, and each push overwrites
/// the previous one. This runs for every push, so it writes eight digits at a time.
@safe struct PushPathBuffer {
    private static let devicePath: StaticString = "/3/device/"
    /// Enough for the id, the path and the digits of the longest token.
    private static let bytesMax = 4_096

    private let bytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: PushPathBuffer.bytesMax, alignment: 16)

    func free() { unsafe bytes.deallocate() }

    /// Writes the path and the id. Both are valid until the next call.
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
            return unsafe path.withUnsafeBytes { unsafe write(prefix: $0, token: token, id: id) }
        }
    }

    /// The layout of the buffer is the id, the prefix of the path, and the digits of the token.
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

    /// Writes the hexadecimal digits of the token: those of four bytes at a time, then those of single bytes.
    private static func writeDigits(
        of token: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer, at start: Int
    ) {
        var index = 0
        while index + 4 <= token.count {
            let word = unsafe UInt32(bigEndian: token.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            unsafe out.storeBytes(
                of: HexWord.digits(word).bigEndian, toByteOffset: start + 2 * index, as: UInt64.self)
            index += 4
        }
        while index < token.count {
            // The two lowest digits of a word are those of its lowest byte.
            let pair = unsafe UInt16(truncatingIfNeeded: HexWord.digits(UInt32(token[index])))
            unsafe out.storeBytes(of: pair.bigEndian, toByteOffset: start + 2 * index, as: UInt16.self)
            index += 1
        }
    }
}
