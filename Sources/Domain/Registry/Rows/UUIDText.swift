internal import Identifiers

/// The text form of a UUID, as iOS writes it: 36 characters with dashes, and letters of one case.
enum UUIDText {
    /// The number of characters, including the dashes.
    static let characterCount = 36
    private static let dashOffsets = (8, 13, 18, 23)

    private enum LetterCase {
        static let upper: UInt8 = 1
        static let lower: UInt8 = 2
    }

    /// Returns the two halves of the UUID and its case. Returns nil for a text that would not read back
    /// unchanged: one with letters of both cases, or one that is no UUID. A UUID without letters counts as
    /// upper case.
    ///
    /// - Parameter text: 36 bytes.
    static func read(_ text: Span<UInt8>) -> (high: UInt64, low: UInt64, isUpper: Bool)? {
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        var seenCases: UInt8 = 0
        var digitIndex = 0
        let values = HexPairs.values
        for index in 0..<characterCount {
            let byte = text[index]
            if isDash(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let value = values[Int(byte)]
            if value > 15 { return nil }
            if byte > UInt8(ascii: "9") {
                seenCases |= byte < UInt8(ascii: "a") ? LetterCase.upper : LetterCase.lower
            }
            if digitIndex < 16 {
                halves.high = halves.high << 4 | UInt64(value)
            } else {
                halves.low = halves.low << 4 | UInt64(value)
            }
            digitIndex += 1
        }
        if seenCases == LetterCase.upper | LetterCase.lower { return nil }
        return (halves.high, halves.low, seenCases != LetterCase.lower)
    }

    /// - Parameter bytes: The 16 bytes of the UUID.
    static func write<Sink: ByteSink & ~Copyable>(
        _ bytes: Span<UInt8>, isUpper: Bool, to text: inout Sink
    ) {
        unsafe text.extend(by: characterCount) { out in
            let out = UnsafeMutableRawPointer(out)
            unsafe bytes.withUnsafeBytes { bytes in
                func eightDigits(at offset: Int) -> UInt64 {
                    let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    return UInt64(littleEndian: Hex.digits(of: word, isUpper: isUpper))
                }
                /// Writes the lowest four of the digits.
                func putFour(_ digits: UInt64, at offset: Int) {
                    unsafe out.storeBytes(
                        of: UInt32(truncatingIfNeeded: digits).littleEndian, toByteOffset: offset,
                        as: UInt32.self)
                }
                let words = (eightDigits(at: 0), eightDigits(at: 4), eightDigits(at: 8), eightDigits(at: 12))
                putFour(words.0, at: 0)
                putFour(words.0 >> 32, at: 4)
                putFour(words.1, at: 9)
                putFour(words.1 >> 32, at: 14)
                putFour(words.2, at: 19)
                putFour(words.2 >> 32, at: 24)
                putFour(words.3, at: 28)
                putFour(words.3 >> 32, at: 32)
                let dash = UInt8(ascii: "-")
                unsafe out.storeBytes(of: dash, toByteOffset: dashOffsets.0, as: UInt8.self)
                unsafe out.storeBytes(of: dash, toByteOffset: dashOffsets.1, as: UInt8.self)
                unsafe out.storeBytes(of: dash, toByteOffset: dashOffsets.2, as: UInt8.self)
                unsafe out.storeBytes(of: dash, toByteOffset: dashOffsets.3, as: UInt8.self)
            }
        }
    }

    private static func isDash(_ index: Int) -> Bool {
        index == dashOffsets.0 || index == dashOffsets.1 || index == dashOffsets.2 || index == dashOffsets.3
    }
}
