internal import Cryptography

/// A position in a list in time order, equal in all lanes: a time, and bytes that break ties.
struct ListPosition: Sendable, Hashable {
    /// Milliseconds since 1970.
    var at: Int64
    var tieBreaker: [UInt8]

    /// The form in which an answer returns the position to its caller.
    var cursor: String { "\(at).\(Base64URL.encode(tieBreaker))" }

    init(at: Int64, rest: [UInt8]) {
        self.at = at
        self.tieBreaker = rest
    }

    init?(cursor: String) {
        let parts = cursor.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let at = Int64(parts[0]), at >= 0, at < 1 << 53,
            let rest = Base64URL.decode(String(parts[1])), rest.count <= 500
        else { return nil }
        self.init(at: at, rest: rest)
    }

    /// Whether it comes before the other in a newest-first list.
    func isNewer(than other: ListPosition) -> Bool {
        at != other.at ? at > other.at : tieBreaker.lexicographicallyPrecedes(other.tieBreaker)
    }
}

/// A value with its position in a list.
struct ListEntry<Value: Sendable & Hashable>: Sendable, Hashable {
    var position: ListPosition
    var value: Value
}
