internal import Cryptography
internal import Identifiers

extension TokenSeal {
    /// The digits of the largest number in `SealingKeys.numberRange`.
    private static let keyNumberDigitsMax = 6
    /// Upper bound of the base64url length of the longest sealed token with its nonce and its tag.
    private static let base64BytesMax = (PushToken.bytesMax + AES256GCM.overheadBytes) * 4 / 3 + 4

    /// Whether a text has the form of a sealed token: `s<key number>.<base64url>`. A token in hexadecimal never
    /// has it, because `s` is no hexadecimal digit.
    package static func isSealed(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe text.first == sealedPrefix else { return false }
        let numberEndMax = 1 + keyNumberDigitsMax
        guard let dot = unsafe text.prefix(numberEndMax + 1).firstIndex(of: UInt8(ascii: ".")), dot > 1,
            unsafe text[1..<dot].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return false }
        let base64 = unsafe text[(dot + 1)...]
        return unsafe (1...base64BytesMax).contains(base64.count) && base64.allSatisfy(isBase64URL)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
