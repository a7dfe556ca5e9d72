internal import LiveActivity
internal import TLS

/// A push token as a row keeps it: what `TokenSeal` wrote, without the digits that say nothing. It comes
/// out as exactly the text that went in.
enum StoredToken {
    private enum Form: UInt8 {
        case text = 0
        /// Lower-case hexadecimal digits.
        case hex = 1
        /// `s<number>.` and base64url: the number, then the bytes.
        case sealed = 2
    }

    static func append(_ token: String, to value: inout [UInt8]) {
        if let sealed = sealed(token) {
            value.append(Form.sealed.rawValue)
            value.append(length: sealed.bytes.count)
            value.append(length: sealed.number)
            value.append(contentsOf: sealed.bytes)
        } else {
            let start = value.count
            value.append(Form.hex.rawValue)
            value.append(length: token.utf8.count / 2)
            if HexPairs.read(token.utf8.span, isLower: true, to: &value) { return }
            value.removeSubrange(start...)
            value.append(Form.text.rawValue)
            value.append(counted: token)
        }
    }

    /// Moves the place behind the token without looking at it.
    static func skip(_ value: Span<UInt8>, at place: inout Int) {
        let form = Form(rawValue: value[place])
        place += 1
        let count = value.length(at: &place)
        if form == .sealed { _ = value.length(at: &place) }
        place += count
    }

    /// Appends the text that `append` was given.
    static func read(_ value: Span<UInt8>, at start: Int, to text: inout [UInt8]) {
        var place = start + 1
        let count = value.length(at: &place)
        switch Form(rawValue: value[start]) {
        case .hex: HexPairs.append(value.extracting(place..<place + count), to: &text)
        case .sealed:
            let number = value.length(at: &place)
            text.append(UInt8(ascii: "s"))
            text.append(decimal: number)
            text.append(UInt8(ascii: "."))
            Base64URL.append(value.extracting(place..<place + count), to: &text)
        case .text, nil: text.append(value.extracting(place..<place + count))
        }
    }

    /// Nil for what would not read back as the same text.
    private static func sealed(_ token: String) -> (number: Int, bytes: [UInt8])? {
        guard token.utf8.first == UInt8(ascii: "s"), let dot = token.utf8.firstIndex(of: UInt8(ascii: "."))
        else { return nil }
        let digits = token[token.index(after: token.startIndex)..<dot]
        guard let number = Int(digits), number >= 0, String(number) == digits,
            let bytes = Base64URL.decode(String(token[token.index(after: dot)...]))
        else { return nil }
        return (number, bytes)
    }
}

extension [UInt8] {
    mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(0x30 + UInt8(number % 10))
    }
}
