internal import LiveActivity

/// A set of tokens. Each is given in full or, as in logs and the journal, by the beginning of its hash.
struct TokenSet: Sendable, Hashable {
    private var tokens: Set<PushToken> = []
    /// Hashes in the form `tok:` and 8 digits.
    private var hashes: Set<String> = []

    var isEmpty: Bool { tokens.isEmpty && hashes.isEmpty }
    var count: Int { tokens.count + hashes.count }

    func contains(_ token: PushToken) -> Bool {
        tokens.contains(token) || !hashes.isEmpty && hashes.contains(token.description)
    }

    /// Inserts a token or a hash. Returns false if the text is neither.
    mutating func insert(_ text: String) -> Bool {
        if text.hasPrefix("tok:") {
            let digits = text.utf8.dropFirst(4)
            guard digits.count == 8, digits.allSatisfy({ Hex.value(of: $0) != nil }) else { return false }
            hashes.insert(text.lowercased())
            return true
        }
        guard let token = PushToken(hex: text) else { return false }
        tokens.insert(token)
        return true
    }

    /// The safe form of the tokens, sorted.
    var redactedTexts: [String] { (tokens.map(\.description) + hashes).sorted() }
}
