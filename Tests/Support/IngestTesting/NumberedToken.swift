internal import Identifiers

/// Push tokens that contain a number, as 32 hexadecimal digits. A lane scans hashes with an equal first half together.
/// So the first half is as different as in real tokens. The second half is the number.
package enum NumberedToken {
    private static let digitsPerHalf = 16
    /// An odd factor, so that no two numbers have the same product.
    private static let scatterFactor: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// Returns the token with the number.
    package static func hex(ofNumber number: Int) -> String {
        let number = UInt64(number)
        return paddedHex(of: number &* scatterFactor) + paddedHex(of: number)
    }

    private static func paddedHex(of half: UInt64) -> String {
        let text = String(half, radix: 16)
        return String(repeating: "0", count: digitsPerHalf - text.count) + text
    }

    /// Returns the number in a token, or nil if `hex(ofNumber:)` did not make the token.
    package static func number(ofToken hex: Span<UInt8>) -> Int? {
        guard hex.count == 2 * digitsPerHalf else { return nil }
        var number: UInt64 = 0
        for index in digitsPerHalf..<2 * digitsPerHalf {
            guard let value = Hex.value(of: hex[index]) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return Int(exactly: number)
    }
}
