/// Base64 in the alphabet of URLs, without padding, as in JSON Web Tokens.
package enum Base64URL {
    package static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(bytes.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends to a reused buffer, for values that are encoded a million times.
    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var bits: UInt32 = 0
            for position in 0..<3 {
                bits = bits << 8 | (position < count ? UInt32(bytes[index + position]) : 0)
            }
            for position in 0...count {
                text.append(digits[Int(bits >> (18 - 6 * UInt32(position)) & 63)])
            }
            index += 3
        }
    }

    /// Returns nil for text that `encode` does not make: other characters, padding, or nonzero bits at the
    /// end.
    package static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for character in text.utf8 {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        let loose = bits & (1 << UInt32(bitCount) - 1)
        return bitCount < 6 && loose == 0 ? bytes : nil
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5A: UInt32(character - 0x41)
        case 0x61...0x7A: UInt32(character - 0x61 + 26)
        case 0x30...0x39: UInt32(character - 0x30 + 52)
        case 0x2D: 62
        case 0x5F: 63
        default: nil
        }
    }
}
