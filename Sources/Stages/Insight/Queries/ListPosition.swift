internal import Cryptography

/// A position in a list in time order, which means the same in all lanes: a time, and bytes that order the
/// entries of one millisecond.
struct ListPosition: Sendable, Hashable {
    /// Milliseconds since 1970.
    var at: Int64
    var tieBreaker: [UInt8]

    private static let tieBreakerBytesMax = 500

    /// The text by which a caller asks for the rest of a list: the time, a dot, and the tie breaker in
    /// Base64URL.
    var cursor: String { "\(at).\(Base64URL.encode(tieBreaker))" }

    init(at: Int64, tieBreaker: [UInt8]) {
        self.at = at
        self.tieBreaker = tieBreaker
    }

    /// Returns nil for a text that is not a cursor.
    init?(cursor: String) {
        let parts = cursor.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let at = Int64(parts[0]), at >= 0, at < 1 << 53,
            let tieBreaker = Base64URL.decode(String(parts[1])), tieBreaker.count <= Self.tieBreakerBytesMax
        else { return nil }
        self.init(at: at, tieBreaker: tieBreaker)
    }

    /// Whether it comes before the other position in a list that has the newest first.
    func isNewer(than other: ListPosition) -> Bool {
        at != other.at ? at > other.at : tieBreaker.lexicographicallyPrecedes(other.tieBreaker)
    }
}

/// A value with its position in a list.
struct ListEntry<Value: Sendable & Hashable>: Sendable, Hashable {
    var position: ListPosition
    var value: Value
}
