/// Hexadecimal digits, by table of two lines: this runs per token.
package enum Hex {
    @inlinable
    package static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    /// The value of a digit, in either case; nil for what is none.
    @inlinable
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x57
        case 0x41...0x46: digit - 0x37
        default: nil
        }
    }

    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            out.append(digit(byte >> 4))
            out.append(digit(byte & 15))
        }
        return out
    }

    /// The digits of a few bytes, as text.
    package static func text(_ bytes: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: 2 * bytes.count) { out in
            for place in bytes.indices {
                unsafe out[2 * place] = digit(bytes[place] >> 4)
                unsafe out[2 * place + 1] = digit(bytes[place] & 15)
            }
            return 2 * bytes.count
        }
    }

    package static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        // One step through the collection's own calls, not one for each digit.
        let decoded = digits.withContiguousStorageIfAvailable { unsafe decode($0.span) }
        return decoded ?? decode(Array(digits).span)
    }

    package static func decode(_ digits: Span<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var out: [UInt8] = []
        out.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            out.append(high << 4 | low)
        }
        return out
    }
}
