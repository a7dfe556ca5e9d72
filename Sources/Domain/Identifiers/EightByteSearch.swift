/// A fast search for a few kinds of bytes in a text, eight bytes at a time. `false` is certain. `true` may be
/// a false alarm, so the caller then checks each byte.
enum EightByteSearch {
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// Searches all bytes. A text shorter than eight bytes is padded with lowercase letters.
    @inline(__always)
    static func mayContain(in bytes: UnsafeRawBufferPointer, matching isSuspect: (UInt64) -> UInt64) -> Bool {
        var found: UInt64 = 0
        var offset = 0
        while offset + 8 <= bytes.count {
            found |= isSuspect(unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        if offset < bytes.count, offset > 0 {
            // The last eight bytes, of which some were searched already.
            found |= isSuspect(unsafe bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
        } else if offset < bytes.count {
            var word = ones &* UInt64(UInt8(ascii: "a"))
            for index in offset..<bytes.count { word = word << 8 | UInt64(unsafe bytes[index]) }
            found |= isSuspect(word)
        }
        return found & (ones &* 0x80) != 0
    }

    /// Returns a word in which a byte's top bit marks that the byte may equal `byte`.
    @inline(__always)
    static func marks(of byte: UInt8, in word: UInt64) -> UInt64 {
        // An equal byte becomes zero, and zero minus one has the top bit.
        let difference = word ^ (ones &* UInt64(byte))
        return (difference &- ones) & ~difference
    }

    /// Returns a word in which a byte's top bit marks that the byte may be below 0x20.
    @inline(__always)
    static func controlMarks(in word: UInt64) -> UInt64 { (word &- ones &* 0x20) & ~word }
}
