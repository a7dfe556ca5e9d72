/// Removal of secrets from text that leaves the process. For example, a line that quotes a foreign error must
/// not leak the push token in it.
package enum Redaction {
    /// The minimum length of a hexadecimal secret. Device tokens have 64 or more digits, and ids that people
    /// search for are shorter.
    package static let hexDigitsMin = 64
    /// The minimum length of a JSON web token.
    private static let webTokenCharactersMin = 20
    /// The minimum length of an API key. Metric names have the same prefix, but are shorter.
    static let apiKeyCharactersMin = 70
    /// The text in place of a secret.
    static let replacement = "<redacted>"

    /// Returns the text without push tokens, API keys, bearer credentials, JSON web tokens and PEM keys.
    package static func scrub(_ text: String) -> String {
        var text = text
        return text.withUTF8 { bytes in unsafe scrub(Array(bytes)) } ?? text
    }

    /// Returns the scrubbed text, or nil if there is no secret, so that the common case copies nothing.
    private static func scrub(_ bytes: [UInt8]) -> String? {
        var out: [UInt8] = []
        // The bytes before this index are in `out`.
        var copiedCount = 0
        var index = 0
        while index < bytes.count {
            let length = secretLength(in: bytes, at: index)
            if length == 0 {
                index += 1
                continue
            }
            out += bytes[copiedCount..<index]
            out += Array(replacement.utf8)
            index += length
            copiedCount = index
        }
        if copiedCount == 0 { return nil }
        out += bytes[copiedCount...]
        return String(decoding: out, as: UTF8.self)
    }

    /// Returns the length of the secret that begins at `index`, or 0. A secret begins a word.
    private static func secretLength(in bytes: [UInt8], at index: Int) -> Int {
        let startsWord = index == 0 || !isWordCharacter(bytes[index - 1])
        guard startsWord else { return 0 }
        if isHex(bytes[index]) {
            let digitCount = runLength(in: bytes, from: index, while: isHex)
            if digitCount >= hexDigitsMin { return digitCount }
        }
        // A JSON web token begins with `{"` in base64.
        if hasPrefix("eyJ", in: bytes, at: index) {
            let tokenLength = runLength(in: bytes, from: index, while: isTokenCharacter)
            if tokenLength >= webTokenCharactersMin { return tokenLength }
        }
        if hasPrefix("bearer ", in: bytes, at: index) || hasPrefix("Bearer ", in: bytes, at: index) {
            let schemeLength = "bearer ".utf8.count
            let credentialLength = runLength(
                in: bytes, from: index + schemeLength,
                while: { $0 > UInt8(ascii: " ") && $0 != UInt8(ascii: "\"") })
            if credentialLength > 0 { return schemeLength + credentialLength }
        }
        if hasPrefix("flotilla_", in: bytes, at: index) {
            let keyLength = runLength(in: bytes, from: index, while: isTokenCharacter)
            if keyLength >= apiKeyCharactersMin { return keyLength }
        }
        // A PEM key. The rest of the text is removed with it.
        if hasPrefix("-----BEGIN ", in: bytes, at: index) { return bytes.count - index }
        return 0
    }

    /// Returns the number of bytes from `start` on for which the condition holds.
    private static func runLength(in bytes: [UInt8], from start: Int, while condition: (UInt8) -> Bool) -> Int
    {
        var end = start
        while end < bytes.count, condition(bytes[end]) { end += 1 }
        return end - start
    }

    private static func hasPrefix(_ prefix: StaticString, in bytes: [UInt8], at index: Int) -> Bool {
        guard bytes.count - index >= prefix.utf8CodeUnitCount else { return false }
        return prefix.withUTF8Buffer { prefix in
            for offset in prefix.indices where unsafe bytes[index + offset] != prefix[offset] { return false }
            return true
        }
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        isWordCharacter(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }
}
