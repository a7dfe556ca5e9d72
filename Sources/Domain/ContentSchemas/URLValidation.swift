internal import Identifiers

/// The result of `URL(string:)` for a text. It accepts nearly everything. From iOS 17 on it escapes invalid
/// characters in the path, query and fragment. It is strict only about the scheme, the host and the port.
enum URLValidation {
    enum Validity {
        case valid
        /// Accepted only from iOS 17 on.
        case needsEscaping
        case invalid
    }

    static func validate(_ text: UnsafeBufferPointer<UInt8>) -> Validity {
        unsafe validate(Array(text))
    }

    private static func validate(_ text: [UInt8]) -> Validity {
        guard !text.isEmpty else { return .invalid }
        var rest = text[...]
        if let end = text.firstIndex(where: { isByte($0, in: ":/?#") }), text[end] == UInt8(ascii: ":"),
            !text[..<end].contains(where: { isByte($0, in: "@[]") })
        {
            guard end == 0 || isScheme(text[..<end]) else { return .invalid }
            rest = text[(end + 1)...]
        }
        if rest.starts(with: "//".utf8) {
            let authority = rest.dropFirst(2)
            let end = authority.firstIndex { isByte($0, in: "/?#") } ?? authority.endIndex
            guard isAuthority(authority[..<end]) else { return .invalid }
        }
        return isEscaped(text) ? .valid : .needsEscaping
    }

    private static func isByte(_ byte: UInt8, in set: StaticString) -> Bool {
        unsafe UnsafeBufferPointer(start: set.utf8Start, count: set.utf8CodeUnitCount).contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isScheme(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first, isLetter(first) else { return false }
        return text.allSatisfy { isLetter($0) || isDigit($0) || isByte($0, in: "+-.") }
    }

    private static func isAuthority(_ text: ArraySlice<UInt8>) -> Bool {
        var host = text
        if let at = text.lastIndex(of: UInt8(ascii: "@")) { host = text[(at + 1)...] }
        if host.first == UInt8(ascii: "[") {
            guard let end = host.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let port = host[(end + 1)...]
            return isAddress(host[(host.startIndex + 1)..<end]) && (port.isEmpty || isPort(port))
        }
        if let colon = host.firstIndex(of: UInt8(ascii: ":")) {
            guard isPort(host[colon...]) else { return false }
            host = host[..<colon]
        }
        return isHost(host)
    }

    /// Whether the text is a colon followed by digits, or a colon alone.
    private static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
        text.first == UInt8(ascii: ":") && text.dropFirst().allSatisfy(isDigit)
    }

    private static func isAddress(_ text: ArraySlice<UInt8>) -> Bool {
        text.allSatisfy { isLetter($0) || isDigit($0) || isByte($0, in: "-._~!$&'()*+,;=:%") }
    }

    /// Whether the host is valid. Names beyond ASCII are converted to Punycode, which hardly ever fails.
    private static func isHost(_ text: ArraySlice<UInt8>) -> Bool {
        for (offset, byte) in zip(text.indices, text) {
            if byte == UInt8(ascii: "%") {
                let digits = text[(offset + 1)...].prefix(2)
                guard digits.count == 2, digits.allSatisfy({ Hex.value(of: $0) != nil }) else { return false }
            } else if byte < 0x80, !isLetter(byte), !isDigit(byte), !isByte(byte, in: "-._~!$&'()*+,;=") {
                return false
            }
        }
        return true
    }

    /// Whether the text has only characters that RFC 3986 allows in a URL, and percent signs only before two
    /// hex digits.
    private static func isEscaped(_ text: [UInt8]) -> Bool {
        for (offset, byte) in text.enumerated() {
            if byte == UInt8(ascii: "%") {
                let digits = text[(offset + 1)...].prefix(2)
                guard digits.count == 2, digits.allSatisfy({ Hex.value(of: $0) != nil }) else { return false }
            } else if !isLetter(byte), !isDigit(byte), !isByte(byte, in: "-._~!$&'()*+,;=:@/?#[]") {
                return false
            }
        }
        return true
    }
}
