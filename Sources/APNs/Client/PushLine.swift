/// Writes what differs between the pushes of a send, id and path, to where the session copies it from:
/// each push in the place of the one before. It runs for every push, so digits are made eight at a time.
@safe struct PushLine {
    private static let devicePath = Array("/3/device/".utf8)
    static let id = 0..<PushID.textBytes

    private(set) var bytes = [UInt8](repeating: 0, count: 256)

    /// Where the path is in `bytes`.
    mutating func write(_ kind: PushTemplate.Kind, token: Span<UInt8>, id: PushID) -> Range<Int> {
        switch kind {
        case .device: write(after: Self.devicePath, token, id)
        case .fixed(let path): write(after: path, token, id)
        }
    }

    private mutating func write(after start: [UInt8], _ token: Span<UInt8>, _ id: PushID) -> Range<Int> {
        let digits = PushID.textBytes + start.count
        let end = digits + 2 * token.count
        if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
        unsafe bytes.withUnsafeMutableBytes { out in
            unsafe id.write(to: out)
            unsafe start.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: out[PushID.textBytes...]).copyMemory(from: $0)
            }
            unsafe token.withUnsafeBytes { unsafe Self.write($0, to: out, at: digits) }
        }
        return PushID.textBytes..<end
    }

    private static func write(
        _ token: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer, at start: Int
    ) {
        var index = 0
        while index + 4 <= token.count {
            let word = unsafe UInt32(bigEndian: token.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            unsafe out.storeBytes(
                of: HexWord.digits(word).bigEndian, toByteOffset: start + 2 * index, as: UInt64.self)
            index += 4
        }
        while index < token.count {
            let pair = unsafe UInt16(truncatingIfNeeded: HexWord.digits(UInt32(token[index])))
            unsafe out.storeBytes(of: pair.bigEndian, toByteOffset: start + 2 * index, as: UInt16.self)
            index += 1
        }
    }
}
