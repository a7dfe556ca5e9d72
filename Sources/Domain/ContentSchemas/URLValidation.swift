internal import Identifiers

/// A prediction whether `URL(string:)` accepts a text on a phone. That initializer is strict only about the
/// scheme, the host and the port. From iOS 17 on it escapes characters that are invalid elsewhere.
enum URLValidation {
    enum Validity {
        case valid
        /// Accepted only from iOS 17 on.
        case needsEscaping
        case invalid
    }

    /// Predicts the result for a text in UTF-8.
    static func validate(_ text: UnsafeBufferPointer<UInt8>) -> Validity {
        unsafe validate(Array(text))
    }

    private static func validate(_ text: [UInt8]) -> Validity {
        guard !text.isEmpty else { return .invalid }
        var afterScheme = text[...]
        if let end = schemeEnd(in: text) {
            // A text that begins with a colon has no scheme and is accepted.
            guard end == 0 || isScheme(text[..<end]) else { return .invalid }
            afterScheme = text[(end + 1)...]
        }
        // `//` begins the authority, which ends before the path, the query or the fragment.
        if afterScheme.starts(with: "//".utf8) {
            let authority = afterScheme.dropFirst(2)
            let end = authority.firstIndex { isByte($0, in: "/?#") } ?? authority.endIndex
            guard isAuthority(authority[..<end]) else { return .invalid }
        }
        return isEscaped(text) ? .valid : .needsEscaping
    }

    /// Returns the position of the colon that ends a scheme, or nil if the text begins with something else.
    private static func schemeEnd(in text: [UInt8]) -> Int? {
        // The first of these characters ends the first part of a URL.
        guard let end = text.firstIndex(where: { isByte($0, in: ":/?#") }), text[end] == UInt8(ascii: ":")
        else { return nil }
        // With one of these characters before the colon, the part is a user or a host and not a scheme.
        return text[..<end].contains { isByte($0, in: "@[]") } ? nil : end
    }

    /// Whether the byte is one of these ASCII characters.
    private static func isByte(_ byte: UInt8, in characters: StaticString) -> Bool {
        unsafe UnsafeBufferPointer(start: characters.utf8Start, count: characters.utf8CodeUnitCount)
            .contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        // The bit 0x20 makes an uppercase letter a lowercase one.
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isScheme(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first, isLetter(first) else { return false }
        return text.allSatisfy { isLetter($0) || isDigit($0) || isByte($0, in: "+-.") }
    }

    /// Whether the text is a host with an optional user and port, for example `user@example.com:8080`.
    private static func isAuthority(_ text: ArraySlice<UInt8>) -> Bool {
        var host = text
        if let at = text.lastIndex(of: UInt8(ascii: "@")) { host = text[(at + 1)...] }
        if host.first == UInt8(ascii: "[") {
            guard let end = host.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let port = host[(end + 1)...]
            return isIPv6Address(host[(host.startIndex + 1)..<end]) && (port.isEmpty || isPort(port))
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

    /// Whether the text between brackets has only characters that RFC 3986 allows there.
    private static func isIPv6Address(_ text: ArraySlice<UInt8>) -> Bool {
        text.allSatisfy { isLetter($0) || isDigit($0) || isByte($0, in: "-._~!$&'()*+,;=:%") }
    }

    /// Whether the host is valid. Names beyond ASCII are converted to Punycode, which hardly ever fails.
    private static func isHost(_ text: ArraySlice<UInt8>) -> Bool {
        // A byte of 0x80 or more is a part of a character beyond ASCII.
        for (index, byte) in zip(text.indices, text) {
            if byte == UInt8(ascii: "%") {
                guard startsWithTwoHexDigits(text[(index + 1)...]) else { return false }
            } else if byte < 0x80, !isLetter(byte), !isDigit(byte), !isByte(byte, in: "-._~!$&'()*+,;=") {
                return false
            }
        }
        return true
    }

    /// Whether the text has only characters that RFC 3986 allows in a URL, and percent signs only before two
    /// hex digits.
    private static func isEscaped(_ text: [UInt8]) -> Bool {
        for (index, byte) in text.enumerated() {
            if byte == UInt8(ascii: "%") {
                guard startsWithTwoHexDigits(text[(index + 1)...]) else { return false }
            } else if !isLetter(byte), !isDigit(byte), !isByte(byte, in: "-._~!$&'()*+,;=:@/?#[]") {
                return false
            }
        }
        return true
    }

    private static func startsWithTwoHexDigits(_ text: ArraySlice<UInt8>) -> Bool {
        let digits = text.prefix(2)
        return digits.count == 2 && digits.allSatisfy { Hex.value(of: $0) != nil }
    }
}
