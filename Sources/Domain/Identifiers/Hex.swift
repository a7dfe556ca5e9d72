/// Hexadecimal digits. The code is fast, because it runs for each token.
@usableFromInline package enum Hex {
    // In ASCII "0" is 0x30. "a" is 0x61 and "A" is 0x41, and both have the value ten.

    @inlinable
    package static func digit(for value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    /// Returns the value of a digit in either case, or nil for any other byte.
    @inlinable
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x57
        case 0x41...0x46: digit - 0x37
        default: nil
        }
    }

    /// Returns the eight digits of four bytes, computed in one register.
    ///
    /// - Parameter word: the four bytes, as they are in memory.
    /// - Returns: the digits in ASCII, in the order in which they belong into memory.
    @inlinable
    package static func digits(of word: UInt32, isUpper: Bool = false) -> UInt64 {
        // Spread the four bytes, one to each two bytes, and then one nibble to each byte.
        var spread = UInt64(UInt32(littleEndian: word))
        spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        let nibbles = (spread >> 4 & 0x000F_000F_000F_000F) | (spread & 0x000F_000F_000F_000F) << 8
        // A nibble of ten or more needs a letter. Only such a nibble plus six reaches 16, so bit 4 marks it.
        let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        // The distance from the character behind "9" to "A" or "a".
        let letterDistance: UInt64 = isUpper ? 0x07 : 0x27
        return (nibbles &+ 0x3030_3030_3030_3030 &+ letters &* letterDistance).littleEndian
    }

    @inlinable
    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            out.append(digit(for: byte >> 4))
            out.append(digit(for: byte & 15))
        }
        return out
    }

    /// Returns the digits of a few bytes as text.
    package static func text(of bytes: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: 2 * bytes.count) { out in
            for index in bytes.indices {
                unsafe out[2 * index] = digit(for: bytes[index] >> 4)
                unsafe out[2 * index + 1] = digit(for: bytes[index] & 15)
            }
            return 2 * bytes.count
        }
    }

    /// Returns the bytes, or nil for other characters or an odd number of digits.
    @inlinable
    package static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        // Most collections are contiguous, and are decoded in place. Others are copied first.
        let decoded = digits.withContiguousStorageIfAvailable { unsafe decode($0.span) }
        return decoded ?? decode(Array(digits).span)
    }

    @usableFromInline
    package static func decode(_ digits: Span<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        return unsafe digits.withUnsafeBytes { digits in
            var isGood = true
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: digits.count / 2) { out, made in
                isGood = unsafe decode(digits, to: UnsafeMutableRawBufferPointer(out))
                made = digits.count / 2
            }
            return isGood ? bytes : nil
        }
    }

    /// Replaces the buffer's content with the decoded bytes. Returns false for other characters or an odd
    /// number of digits.
    package static func decode(_ digits: Span<UInt8>, into buffer: inout [UInt8]) -> Bool {
        guard digits.count.isMultiple(of: 2) else { return false }
        let count = digits.count / 2
        if buffer.count > count { buffer.removeLast(buffer.count - count) }
        while buffer.count < count { buffer.append(0) }
        return unsafe buffer.withUnsafeMutableBytes { out in
            unsafe digits.withUnsafeBytes { unsafe decode($0, to: out) }
        }
    }

    /// Writes the decoded bytes. Returns false for other characters. The written bytes are then meaningless.
    ///
    /// - Parameters:
    ///   - digits: an even number of digits.
    ///   - out: a buffer with space for half as many bytes as there are digits.
    private static func decode(
        _ digits: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let count = digits.count
        // The faults are tested once after the loop, because a branch for each word would cost more.
        var faults: UInt64 = 0
        for index in stride(from: 0, to: count & ~7, by: 8) {
            let eight = unsafe EightDigits(digits.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            faults |= eight.faults
            unsafe out.storeBytes(of: eight.bytes.littleEndian, toByteOffset: index / 2, as: UInt32.self)
        }
        var isGood = faults == 0
        for index in stride(from: count & ~7, to: count, by: 2) {
            let (high, low) = unsafe (value(of: digits[index]), value(of: digits[index + 1]))
            isGood = isGood && high != nil && low != nil
            unsafe out[index / 2] = (high ?? 0) << 4 | (low ?? 0)
        }
        return isGood
    }

    /// Whether all bytes are hexadecimal digits.
    package static func areHex(_ digits: UnsafeRawBufferPointer) -> Bool {
        for index in stride(from: 0, to: digits.count & ~7, by: 8) {
            let eight = unsafe EightDigits(digits.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            if !eight.areHex { return false }
        }
        for index in (digits.count & ~7)..<digits.count where unsafe value(of: digits[index]) == nil {
            return false
        }
        return true
    }
}

/// Eight digits in one word, processed together.
private struct EightDigits {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    private let word: UInt64

    init(_ word: UInt64) { self.word = UInt64(littleEndian: word) }

    /// Marks, by its top bit, each byte whose lower seven bits are in `first...last`. The caller refuses bytes that
    /// have the top bit set themselves.
    private static func marks(from first: UInt8, through last: UInt8, in word: UInt64) -> UInt64 {
        // The subtraction borrows the top bit of a byte that is smaller than the subtracted one, so that bit is lost.
        let isFirstOrAbove = (word | tops) &- ones &* UInt64(first)
        let isAboveLast = (word | tops) &- ones &* UInt64(last + 1)
        return isFirstOrAbove & ~isAboveLast & tops
    }

    /// Marks of letters in both cases. Bit 0x20 turns letters, and no other bytes, into lowercase letters.
    private var letters: UInt64 {
        Self.marks(from: UInt8(ascii: "a"), through: UInt8(ascii: "f"), in: word | Self.ones &* 0x20)
    }

    var areHex: Bool { faults == 0 }

    /// The top bits of bytes that are not hexadecimal digits.
    var faults: UInt64 {
        let decimals = Self.marks(from: UInt8(ascii: "0"), through: UInt8(ascii: "9"), in: word)
        let digits = decimals | letters
        return (digits ^ Self.tops) | (word & Self.tops)
    }

    /// The four bytes that eight digits spell.
    var bytes: UInt32 {
        // The low nibble of the letter "a" is 1, so nine more gives its value.
        let values = (word & (Self.ones &* 0x0F)) &+ (letters >> 7) &* 9
        // Join two nibbles to a byte, then two bytes, then four. The first digit is the lowest byte of the word.
        let pairs = (values << 4 | values >> 8) & 0x00FF_00FF_00FF_00FF
        let fours = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: fours | fours >> 16)
    }
}
