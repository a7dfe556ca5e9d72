internal import Cryptography
internal import LiveActivity

/// A push token as a row stores it: the text of `TokenSeal` in a compact form. It reads back as exactly the
/// same text.
enum StoredToken {
    private enum Form: UInt8 {
        case text = 0
        /// Lower-case hexadecimal digits.
        case hex = 1
        /// `s<number>.` and base64url: the number, then the bytes.
        case sealed = 2
    }

    static func append(_ token: Span<UInt8>, to value: inout [UInt8]) {
        if !token.isEmpty, token[0] == UInt8(ascii: "s"), let sealed = parseSealed(token) {
            value.append(Form.sealed.rawValue)
            value.append(length: sealed.bytes.count)
            value.append(length: sealed.number)
            value.append(contentsOf: sealed.bytes)
        } else {
            let start = value.count
            value.append(Form.hex.rawValue)
            value.append(length: token.count / 2)
            if HexPairs.decode(token, isLower: true, to: &value) { return }
            value.removeSubrange(start...)
            value.append(Form.text.rawValue)
            value.append(length: token.count)
            value.append(token)
        }
    }

    /// Moves the offset behind the token without decoding it.
    static func skip(_ value: Span<UInt8>, at offset: inout Int) {
        let form = Form(rawValue: value[offset])
        offset += 1
        let count = value.length(at: &offset)
        if form == .sealed { _ = value.length(at: &offset) }
        offset += count
    }

    /// Appends the text that `append` received.
    static func read<Sink: ByteSink & ~Copyable>(
        _ value: Span<UInt8>, at start: Int, to text: inout Sink
    ) {
        var offset = start + 1
        let count = value.length(at: &offset)
        switch Form(rawValue: value[start]) {
        case .hex: HexPairs.append(value.extracting(offset..<offset + count), to: &text)
        case .sealed:
            let number = value.length(at: &offset)
            text.append(UInt8(ascii: "s"))
            text.append(decimal: number)
            text.append(UInt8(ascii: "."))
            Base64Pairs.append(value.extracting(offset..<offset + count), to: &text)
        case .text, nil: text.append(value.extracting(offset..<offset + count))
        }
    }

    /// Returns nil for a text that would not read back unchanged.
    private static func parseSealed(_ token: Span<UInt8>) -> (number: Int, bytes: [UInt8])? {
        let token = String(decoding: Array(token), as: UTF8.self)
        guard let dot = token.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        let digits = token[token.index(after: token.startIndex)..<dot]
        guard let number = Int(digits), number >= 0, String(number) == digits,
            let bytes = Base64URL.decode(String(token[token.index(after: dot)...]))
        else { return nil }
        return (number, bytes)
    }
}

extension ByteSink where Self: ~Copyable {
    fileprivate mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(0x30 + UInt8(number % 10))
    }
}

/// The output of `Base64URL`, two digits at a time. Each row with a sealed token has about eighty digits.
private enum Base64Pairs {
    private static let pairs = [UInt16](
        (0..<4096).map { number in
            let digits = Base64URL.digits
            return (UInt16(digits[number >> 6]) | UInt16(digits[number & 63]) << 8).littleEndian
        })

    static func append<Sink: ByteSink & ~Copyable>(_ bytes: Span<UInt8>, to text: inout Sink) {
        let pairs = pairs
        let (whole, rest) = (bytes.count / 3, bytes.count % 3)
        unsafe text.extend(by: 4 * whole + (rest == 0 ? 0 : rest + 1)) { out in
            let raw = UnsafeMutableRawPointer(out)
            for index in 0..<whole {
                let at = 3 * index
                let bits = Int(bytes[at]) << 16 | Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
                unsafe raw.storeBytes(of: pairs[bits >> 12], toByteOffset: 4 * index, as: UInt16.self)
                unsafe raw.storeBytes(of: pairs[bits & 4095], toByteOffset: 4 * index + 2, as: UInt16.self)
            }
            guard rest > 0 else { return }
            let last = rest == 2 ? Int(bytes[3 * whole + 1]) : 0
            let bits = Int(bytes[3 * whole]) << 16 | last << 8
            for digit in 0...rest {
                unsafe out[4 * whole + digit] = Base64URL.digits[bits >> (18 - 6 * digit) & 63]
            }
        }
    }
}
