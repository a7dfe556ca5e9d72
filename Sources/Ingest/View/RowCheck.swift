/// A sum over a row's key and value that stands before the value in the file. The file's own format
/// has none, and what is read from it becomes the truth again with the next report: a byte that the
/// disk changed must not get that far.
enum RowCheck {
    static let bytes = 4

    /// Every single word that differs gives another sum before it is cut to 32 bits.
    static func sum(_ key: Span<UInt8>, _ value: Span<UInt8>) -> UInt32 {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(key.count) << 32 ^ UInt64(value.count)
        add(key, to: &state)
        add(value, to: &state)
        return UInt32(truncatingIfNeeded: state ^ state >> 32)
    }

    private static func add(_ bytes: Span<UInt8>, to state: inout UInt64) {
        unsafe bytes.withUnsafeBytes { bytes in
            var at = 0
            while at + 8 <= bytes.count {
                mix(unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self), into: &state)
                at += 8
            }
            var rest: UInt64 = 0
            while at < bytes.count {
                rest = unsafe rest << 8 | UInt64(bytes[at])
                at += 1
            }
            mix(rest, into: &state)
        }
    }

    private static func mix(_ word: UInt64, into state: inout UInt64) {
        state = (state ^ word) &* 0xBF58_476D_1CE4_E5B9
        state ^= state >> 29
    }

    /// The value with its sum before it, in a buffer that is used again.
    static func write(_ key: Span<UInt8>, _ value: Span<UInt8>, to buffer: inout [UInt8]) {
        buffer.removeAll(keepingCapacity: true)
        let sum = sum(key, value)
        for shift in [24, 16, 8, 0] as [UInt32] { buffer.append(UInt8(truncatingIfNeeded: sum >> shift)) }
        unsafe value.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
    }

    /// Whether the value behind the sum, `stored[bytes...]`, is what was written under this key.
    static func holds(_ key: Span<UInt8>, _ stored: Span<UInt8>) -> Bool {
        guard stored.count >= bytes else { return false }
        var found: UInt32 = 0
        for index in 0..<bytes { found = found << 8 | UInt32(stored[index]) }
        return found == sum(key, stored.extracting(bytes..<stored.count))
    }
}
