internal import Cryptography

/// Letters and digits. Such text survives copying by double click, URLs and shells.
enum Base62 {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    /// Returns unpredictable characters, each with the same probability.
    static func random(count: Int) -> [UInt8] {
        var text: [UInt8] = []
        while text.count < count {
            // Bytes from the largest multiple of 62 on are skipped. They would make some characters more
            // likely.
            for byte in Random.bytes(count: count) where byte < 248 && text.count < count {
                text.append(digits[Int(byte % 62)])
            }
        }
        return text
    }

    static func encode(_ value: UInt32, digits count: Int) -> [UInt8] {
        var rest = value
        var text: [UInt8] = []
        for _ in 0..<count {
            text.append(digits[Int(rest % 62)])
            rest /= 62
        }
        return text.reversed()
    }
}
