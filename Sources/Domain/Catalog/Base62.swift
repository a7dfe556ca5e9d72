internal import Cryptography

/// Text of letters and digits, in base 62. Such text survives copying by double click, URLs and shells.
enum Base62 {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    /// The largest multiple of 62 that a byte can reach. From there on a byte would make some digits more likely.
    private static let fairBytesEnd = 248

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// Returns unpredictable digits, each with the same probability.
    static func random(count: Int) -> [UInt8] {
        var text: [UInt8] = []
        // Bytes from `fairBytesEnd` on are skipped, so one round may not be enough.
        while text.count < count {
            for byte in Random.bytes(count: count) where byte < fairBytesEnd && text.count < count {
                text.append(digits[Int(byte) % digits.count])
            }
        }
        return text
    }

    /// Returns the last `count` digits of the number, with leading zeros.
    static func encode(_ value: UInt32, digits count: Int) -> [UInt8] {
        var remainder = Int(value)
        var reversedText: [UInt8] = []
        for _ in 0..<count {
            reversedText.append(digits[remainder % digits.count])
            remainder /= digits.count
        }
        return reversedText.reversed()
    }
}
