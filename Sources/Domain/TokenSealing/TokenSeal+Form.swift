internal import Identifiers

extension TokenSeal {
    private static let keyNumberDigitsMax = 6
    /// The base64url length of the nonce, the longest token and AES-GCM's tag.
    private static let sealedBytesMax = (12 + PushToken.bytesMax + 16) * 4 / 3 + 4

    /// Whether a text has the form of a sealed token. No token in hexadecimal has it.
    package static func isSealed(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe text.first == UInt8(ascii: "s") else { return false }
        guard let dot = unsafe text.prefix(keyNumberDigitsMax + 2).firstIndex(of: UInt8(ascii: ".")), dot > 1,
            unsafe text[1..<dot].allSatisfy({ (0x30...0x39).contains($0) })
        else { return false }
        let sealed = unsafe text[(dot + 1)...]
        return unsafe (1...sealedBytesMax).contains(sealed.count) && sealed.allSatisfy(isBase64URL)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
