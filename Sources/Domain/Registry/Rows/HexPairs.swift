internal import Identifiers

/// Fast conversion between bytes and hexadecimal digits, several digits at a time. A page decodes about a
/// hundred digits for each row.
enum HexPairs {
    /// Appends the lower-case digits of the bytes.
    static func append<Sink: ByteSink & ~Copyable>(_ bytes: Span<UInt8>, to text: inout Sink) {
        unsafe text.extend(by: 2 * bytes.count) { out in
            unsafe bytes.withUnsafeBytes { bytes in
                let out = UnsafeMutableRawPointer(out)
                let wordsEnd = bytes.count & ~3
                for offset in stride(from: 0, to: wordsEnd, by: 4) {
                    let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    unsafe out.storeBytes(
                        of: digits(of: word, isUpper: false), toByteOffset: 2 * offset, as: UInt64.self)
                }
                for offset in wordsEnd..<bytes.count {
                    let pair = unsafe digits(of: UInt32(bytes[offset]), isUpper: false)
                    unsafe out.storeBytes(
                        of: UInt16(truncatingIfNeeded: pair), toByteOffset: 2 * offset, as: UInt16.self)
                }
            }
        }
    }

    /// Returns the eight digits of four bytes, computed in one register. The first byte and its first digit
    /// are the lowest.
    static func digits(of word: UInt32, isUpper: Bool) -> UInt64 {
        // Spread the four bytes, one to each two bytes, and then one nibble to each byte.
        var spread = UInt64(UInt32(littleEndian: word))
        spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        let nibbles = (spread >> 4 & 0x000F_000F_000F_000F) | (spread & 0x000F_000F_000F_000F) << 8
        // Six carries into the next bit if the nibble is ten or more, which needs a letter.
        let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        // The distance from the character behind "9" to "A" or "a".
        let letterDistance: UInt64 = isUpper ? 0x07 : 0x27
        return (nibbles + 0x3030_3030_3030_3030 + letters * letterDistance).littleEndian
    }

    /// Appends the bytes that the digits stand for. Returns false for invalid or unpaired digits, and with
    /// `isLower` for capital digits, which would not read back as the same text. After false the appended
    /// bytes are invalid.
    static func decode(_ digits: Span<UInt8>, isLower: Bool, to value: inout [UInt8]) -> Bool {
        guard digits.count.isMultiple(of: 2) else { return false }
        if digits.isEmpty { return true }
        // All digit values, combined with or. The value of an invalid digit sets a high bit.
        var seenBits: UInt8 = 0
        let digitValues = isLower ? lowerValues : values
        unsafe value.extend(by: digits.count / 2) { out in
            unsafe digits.withUnsafeBufferPointer { digits in
                for index in 0..<digits.count / 2 {
                    let (high, low) = unsafe (
                        digitValues[Int(digits[2 * index])], digitValues[Int(digits[2 * index + 1])]
                    )
                    seenBits |= high | low
                    unsafe out[index] = high << 4 | low
                }
            }
        }
        return seenBits < 16
    }

    /// The value of each character as a digit of either case, 0x80 for other characters.
    static let values = (0...255).map { Hex.value(of: UInt8($0)) ?? 0x80 }
    /// Like `values`, but without the capital digits A to F.
    private static let lowerValues: [UInt8] = (0...255).map {
        let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(UInt8($0))
        return isCapital ? 0x80 : Hex.value(of: UInt8($0)) ?? 0x80
    }
}
