/// Removal of secrets from text that leaves the process. For example, a line that quotes a foreign error must
/// not leak the push token in it.
package enum Redaction {
    /// The minimum length of a hexadecimal secret. Device tokens have 64 or more digits, and ids that people
    /// search for are shorter.
    package static let hexDigitsMin = 64
    /// The minimum length of an API key. Metric names have the same prefix, but are shorter.
    static let apiKeyCharactersMin = 70
    static let mark = "<redacted>"

    /// Returns the text without push tokens, API keys, bearer credentials, JSON web tokens and PEM keys.
    package static func scrub(_ text: String) -> String {
        var text = text
        return text.withUTF8 { bytes in unsafe scrub(Array(bytes)) } ?? text
    }

    /// Returns the scrubbed text, or nil if there is no secret, so that the common case copies nothing.
    private static func scrub(_ bytes: [UInt8]) -> String? {
        var out: [UInt8] = []
        var copied = 0
        var index = 0
        while index < bytes.count {
            let length = secretLength(in: bytes, at: index)
            if length == 0 {
                index += 1
                continue
            }
            out += bytes[copied..<index]
            out += Array(mark.utf8)
            index += length
            copied = index
        }
        if copied == 0 { return nil }
        out += bytes[copied...]
        return String(decoding: out, as: UTF8.self)
    }

    /// Returns the length of the secret that begins at `index`, or 0.
    private static func secretLength(in bytes: [UInt8], at index: Int) -> Int {
        let startsWord = index == 0 || !isWordCharacter(bytes[index - 1])
        guard startsWord else { return 0 }
        if isHex(bytes[index]) {
            let digits = runLength(in: bytes, from: index, while: isHex)
            if digits >= hexDigitsMin { return digits }
        }
        if isWord(in: bytes, at: index, equalTo: "eyJ") {
            let token = runLength(in: bytes, from: index, while: isTokenCharacter)
            if token >= 20 { return token }
        }
        if isWord(in: bytes, at: index, equalTo: "bearer ")
            || isWord(in: bytes, at: index, equalTo: "Bearer ")
        {
            let credential = runLength(in: bytes, from: index + 7, while: { $0 > 32 && $0 != 0x22 })
            if credential > 0 { return 7 + credential }
        }
        if isWord(in: bytes, at: index, equalTo: "flotilla_") {
            let key = runLength(in: bytes, from: index, while: isTokenCharacter)
            if key >= apiKeyCharactersMin { return key }
        }
        if isWord(in: bytes, at: index, equalTo: "-----BEGIN ") { return bytes.count - index }
        return 0
    }

    private static func runLength(in bytes: [UInt8], from start: Int, while holds: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, holds(bytes[end]) { end += 1 }
        return end - start
    }

    private static func isWord(in bytes: [UInt8], at index: Int, equalTo word: StaticString) -> Bool {
        guard bytes.count - index >= word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            for offset in word.indices where unsafe bytes[index + offset] != word[offset] { return false }
            return true
        }
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) || (0x41...0x46).contains(byte)
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        isHex(byte) || (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        isWordCharacter(byte) || byte == 0x2E || byte == 0x2D || byte == 0x5F
    }
}
