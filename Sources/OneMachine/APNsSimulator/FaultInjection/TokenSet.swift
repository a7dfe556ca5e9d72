internal import Identifiers

/// A set of push tokens, by which a rule or a reader of the journal selects requests. Each token is given in
/// full, or by the beginning of its hash as the journal and the logs show it, such as `tok:1f2e3d4c`
/// (`PushToken.description`).
struct TokenSet: Sendable, Hashable {
    private static let hashPrefix = "tok:"
    private static let hashDigitCount = 8

    private var tokens: Set<PushToken> = []
    /// Hashes with their prefix, in lower case.
    private var hashes: Set<String> = []

    var isEmpty: Bool { tokens.isEmpty && hashes.isEmpty }
    var count: Int { tokens.count + hashes.count }

    func contains(_ token: PushToken) -> Bool {
        if tokens.contains(token) { return true }
        return !hashes.isEmpty && hashes.contains(token.description)
    }

    /// Inserts a token or a hash. Returns false if the text is neither.
    mutating func insert(_ text: String) -> Bool {
        if text.hasPrefix(Self.hashPrefix) {
            let digits = text.utf8.dropFirst(Self.hashPrefix.utf8.count)
            guard digits.count == Self.hashDigitCount, digits.allSatisfy({ Hex.value(of: $0) != nil })
            else { return false }
            hashes.insert(text.lowercased())
            return true
        }
        guard let token = PushToken(hex: text) else { return false }
        tokens.insert(token)
        return true
    }

    /// All hashes, also of the tokens that were given in full, sorted. The tokens themselves are secrets.
    var redactedTexts: [String] { (tokens.map(\.description) + hashes).sorted() }
}
