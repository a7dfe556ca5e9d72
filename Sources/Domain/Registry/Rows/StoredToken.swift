internal import Cryptography

/// A push token as a row stores it: the text that `TokenSeal` made, in about half of the bytes. It reads back
/// as exactly the same text. The first byte is the form, then come a length and the token:
///
///     text    length, the text
///     hex     length, the bytes whose lower-case hexadecimal digits are the text
///     sealed  length, the key's number, the bytes: the text is `s<number>.` and the bytes in base64url
///
/// The length does not include the number of a sealed token.
enum StoredToken {
    private enum Form: UInt8 {
        case text = 0
        case hex = 1
        case sealed = 2
    }

    static func append(_ token: Span<UInt8>, to value: inout [UInt8]) {
        if !token.isEmpty, token[0] == UInt8(ascii: "s"), let sealed = parseSealed(token) {
            value.append(Form.sealed.rawValue)
            value.append(length: sealed.bytes.count)
            value.append(length: sealed.keyNumber)
            value.append(contentsOf: sealed.bytes)
        } else {
            // Try the digits first. If the token has other characters, start again with the text.
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
        let count = value.readLength(at: &offset)
        if form == .sealed { _ = value.readLength(at: &offset) }
        offset += count
    }

    /// Appends the text of the token that starts at an offset.
    static func read<Sink: ByteSink & ~Copyable>(
        _ value: Span<UInt8>, at start: Int, to text: inout Sink
    ) {
        var offset = start + 1
        let count = value.readLength(at: &offset)
        switch Form(rawValue: value[start]) {
        case .hex: HexPairs.append(value.extracting(offset..<offset + count), to: &text)
        case .sealed:
            let keyNumber = value.readLength(at: &offset)
            text.append(UInt8(ascii: "s"))
            text.append(decimal: keyNumber)
            text.append(UInt8(ascii: "."))
            Base64Pairs.append(value.extracting(offset..<offset + count), to: &text)
        case .text, nil: text.append(value.extracting(offset..<offset + count))
        }
    }

    /// Parses `s<number>.<base64url>`. Returns nil for a text that would not read back unchanged.
    private static func parseSealed(_ token: Span<UInt8>) -> (keyNumber: Int, bytes: [UInt8])? {
        let token = String(decoding: Array(token), as: UTF8.self)
        guard let dot = token.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        let digits = token[token.index(after: token.startIndex)..<dot]
        guard let keyNumber = Int(digits), keyNumber >= 0, String(keyNumber) == digits,
            let bytes = Base64URL.decode(String(token[token.index(after: dot)...]))
        else { return nil }
        return (keyNumber, bytes)
    }
}

extension ByteSink where Self: ~Copyable {
    fileprivate mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}

/// Encodes base64url like `Base64URL.encode`, but two digits at a time. Each row with a sealed token has about
/// eighty digits.
private enum Base64Pairs {
    /// The two digits of each number of twelve bits, the first digit in the lower byte.
    private static let pairs = [UInt16](
        (0..<4096).map { number in
            let digits = Base64URL.digits
            return (UInt16(digits[number >> 6]) | UInt16(digits[number & 63]) << 8).littleEndian
        })

    static func append<Sink: ByteSink & ~Copyable>(_ bytes: Span<UInt8>, to text: inout Sink) {
        let pairs = pairs
        // Three bytes are four digits. One byte behind them is two digits, and two bytes are three.
        let (tripleCount, restCount) = (bytes.count / 3, bytes.count % 3)
        let restDigits = restCount == 0 ? 0 : restCount + 1
        unsafe text.extend(by: 4 * tripleCount + restDigits) { out in
            let rawOut = UnsafeMutableRawPointer(out)
            for index in 0..<tripleCount {
                let start = 3 * index
                let bits = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
                unsafe rawOut.storeBytes(of: pairs[bits >> 12], toByteOffset: 4 * index, as: UInt16.self)
                unsafe rawOut.storeBytes(of: pairs[bits & 4095], toByteOffset: 4 * index + 2, as: UInt16.self)
            }
            guard restCount > 0 else { return }
            let secondByte = restCount == 2 ? Int(bytes[3 * tripleCount + 1]) : 0
            let bits = Int(bytes[3 * tripleCount]) << 16 | secondByte << 8
            for digit in 0..<restDigits {
                unsafe out[4 * tripleCount + digit] = Base64URL.digits[bits >> (18 - 6 * digit) & 63]
            }
        }
    }
}
