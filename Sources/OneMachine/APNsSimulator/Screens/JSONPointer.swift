/// A JSON pointer (RFC 6901): the path to a part of a JSON value, such as `/score/home`. Empty for the whole
/// value.
package struct JSONPointer: Sendable, Hashable {
    static let whole = JSONPointer(parts: [])

    /// Names of members and indices of elements, from the outermost.
    let parts: [String]

    private init(parts: [String]) { self.parts = parts }

    /// Parses a pointer. Returns nil if the text is not a pointer.
    package init?(parsing text: String) {
        if text.isEmpty {
            parts = []
            return
        }
        guard text.hasPrefix("/") else { return nil }
        var parts: [String] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let unescaped = Self.unescaping(part) else { return nil }
            parts.append(unescaped)
        }
        self.parts = parts
    }

    /// Replaces the escapes `~0` by a tilde and `~1` by a slash. Returns nil if a tilde has another successor.
    private static func unescaping(_ part: Substring) -> String? {
        var unescaped = ""
        var isEscaped = false
        for character in part {
            if isEscaped {
                guard character == "0" || character == "1" else { return nil }
                unescaped.append(character == "0" ? "~" : "/")
                isEscaped = false
            } else if character == "~" {
                isEscaped = true
            } else {
                unescaped.append(character)
            }
        }
        return isEscaped ? nil : unescaped
    }
}
