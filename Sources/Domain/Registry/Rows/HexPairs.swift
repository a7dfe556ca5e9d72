internal import LiveActivity

/// Hexadecimal digits. Every row of a page has about a hundred of them.
enum HexPairs {
    static func append<Sink: ByteSink & ~Copyable>(_ bytes: Span<UInt8>, to text: inout Sink) {
        unsafe text.extend(by: 2 * bytes.count) { out in
            unsafe bytes.withUnsafeBytes { bytes in
                let (out, whole) = (UnsafeMutableRawPointer(out), bytes.count & ~3)
                for offset in stride(from: 0, to: whole, by: 4) {
                    let four = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    unsafe out.storeBytes(
                        of: digits(of: four, isUpper: false), toByteOffset: 2 * offset, as: UInt64.self)
                }
                for offset in whole..<bytes.count {
                    let two = unsafe digits(of: UInt32(bytes[offset]), isUpper: false)
                    unsafe out.storeBytes(
                        of: UInt16(truncatingIfNeeded: two), toByteOffset: 2 * offset, as: UInt16.self)
                }
            }
        }
    }

    /// Returns the eight digits of four bytes, computed in one register. The first byte and its first digit
    /// are the lowest.
    static func digits(of four: UInt32, isUpper: Bool) -> UInt64 {
        var spread = UInt64(UInt32(littleEndian: four))
        spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        let nibbles = (spread >> 4 & 0x000F_000F_000F_000F) | (spread & 0x000F_000F_000F_000F) << 8
        let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (nibbles + 0x3030_3030_3030_3030 + letters * (isUpper ? 0x07 : 0x27)).littleEndian
    }

    /// Appends the decoded digits. Returns false for invalid or unpaired digits, and with `isLower` for
    /// capital digits, which would not read back as the same text. After false the appended bytes are
    /// invalid.
    static func decode(_ digits: Span<UInt8>, isLower: Bool, to value: inout [UInt8]) -> Bool {
        guard digits.count.isMultiple(of: 2) else { return false }
        if digits.isEmpty { return true }
        // A non-digit sets the high bits.
        var seen: UInt8 = 0
        let table = isLower ? lowerValues : values
        unsafe value.extend(by: digits.count / 2) { out in
            unsafe digits.withUnsafeBufferPointer { digits in
                for index in 0..<digits.count / 2 {
                    let (high, low) = unsafe (
                        table[Int(digits[2 * index])], table[Int(digits[2 * index + 1])]
                    )
                    seen |= high | low
                    unsafe out[index] = high << 4 | low
                }
            }
        }
        return seen < 16
    }

    /// The value of each digit, 0x80 for other bytes.
    static let values = (0...255).map { Hex.value(of: UInt8($0)) ?? 0x80 }
    private static let lowerValues = (0...255).map {
        (0x41...0x46).contains($0) ? 0x80 : Hex.value(of: UInt8($0)) ?? 0x80
    }
}
