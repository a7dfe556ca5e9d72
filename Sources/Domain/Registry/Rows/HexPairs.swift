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
                        of: Hex.digits(of: word), toByteOffset: 2 * offset, as: UInt64.self)
                }
                for offset in wordsEnd..<bytes.count {
                    let pair = unsafe Hex.digits(of: UInt32(bytes[offset]).littleEndian).littleEndian
                    unsafe out.storeBytes(
                        of: UInt16(truncatingIfNeeded: pair), toByteOffset: 2 * offset, as: UInt16.self)
                }
            }
        }
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
