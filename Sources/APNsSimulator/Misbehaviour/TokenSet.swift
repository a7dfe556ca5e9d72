internal import LiveActivity

/// Tokens, named by themselves or, as logs and the journal show them, by the beginning of their hash.
struct TokenSet: Sendable, Hashable {
    private var tokens: Set<PushToken> = []
    /// `tok:` and 8 digits.
    private var hashes: Set<String> = []

    var isEmpty: Bool { tokens.isEmpty && hashes.isEmpty }
    var count: Int { tokens.count + hashes.count }

    func contains(_ token: PushToken) -> Bool {
        tokens.contains(token) || !hashes.isEmpty && hashes.contains(token.description)
    }

    /// False when the text is neither.
    mutating func insert(_ text: String) -> Bool {
        if text.hasPrefix("tok:") {
            let digits = text.utf8.dropFirst(4)
            guard digits.count == 8, digits.allSatisfy({ Hex.value($0) != nil }) else { return false }
            hashes.insert(text.lowercased())
            return true
        }
        guard let token = PushToken(hex: text) else { return false }
        tokens.insert(token)
        return true
    }

    /// As people may see them, sorted.
    var shown: [String] { (tokens.map(\.description) + hashes).sorted() }
}
