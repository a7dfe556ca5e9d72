internal import Identifiers

/// Tokens with numbers. A lane scans hashes with an equal first half together. So the first halves are as
/// different as those of real tokens. The second half is the number.
package enum NumberedToken {
    private static let digits = 16
    /// An odd factor, so that no two numbers have the same product.
    private static let scatterFactor: UInt64 = 0x9E37_79B9_7F4A_7C15

    package static func hex(ofNumber number: Int) -> String {
        let number = UInt64(number)
        return paddedHex(of: number &* scatterFactor) + paddedHex(of: number)
    }

    private static func paddedHex(of half: UInt64) -> String {
        let text = String(half, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// Returns nil for another token.
    package static func number(ofToken hex: Span<UInt8>) -> Int? {
        guard hex.count == 2 * digits else { return nil }
        var number: UInt64 = 0
        for index in digits..<2 * digits {
            guard let value = Hex.value(of: hex[index]) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return Int(exactly: number)
    }
}
