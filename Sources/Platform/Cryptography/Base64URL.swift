/// Base64 in the alphabet for URLs, without padding (RFC 4648, 5), as in JSON Web Tokens. For example, the
/// bytes FB FF become `-_8`.
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
            // Three bytes become four digits. A last group of one or two bytes becomes two or three digits.
            let groupBytes = min(3, bytes.count - index)
            var bits: UInt32 = 0
            for position in 0..<3 {
                bits = bits << 8 | (position < groupBytes ? UInt32(bytes[index + position]) : 0)
            }
            for position in 0...groupBytes {
                text.append(digits[Int(bits >> (18 - 6 * UInt32(position)) & 63)])
            }
            index += 3
        }
    }

    /// Returns the text in the standard alphabet with padding (RFC 4648, 4).
    package static func standardText(of bytes: [UInt8]) -> String {
        var text = Array(encode(bytes).utf8)
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "-"): text[index] = UInt8(ascii: "+")
            case UInt8(ascii: "_"): text[index] = UInt8(ascii: "/")
            default: break
            }
        }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns nil for text that `encode` does not make: other characters, padding, or nonzero bits at the
    /// end.
    package static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in text.utf8 {
            guard let value = value(of: digit) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        let unusedBits = bits & ((1 << UInt32(bitCount)) - 1)
        return bitCount < 6 && unusedBits == 0 ? bytes : nil
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
