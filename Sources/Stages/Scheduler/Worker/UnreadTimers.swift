internal import StageSupport

/// The timers of a partition that the view may not have yet, by owner. Without it, a lookup for an owner
/// would search all rows that are committed and not read back. An extra key does no harm.
struct UnreadTimers {
    private static let separator = UInt8(ascii: "/")

    private var keysByOwner: [HashedKey: Set<HashedKey>] = [:]

    var isEmpty: Bool { keysByOwner.isEmpty }

    /// Adds the key of a committed row.
    mutating func add(_ key: HashedKey) {
        if let owner = Self.owner(of: key.bytes) { keysByOwner[owner, default: []].insert(key) }
    }

    /// - Parameter prefix: the prefix of the owner's keys.
    subscript(prefix: HashedKey) -> Set<HashedKey> { keysByOwner[prefix] ?? [] }

    /// Forgets the keys that the view has now.
    ///
    /// - Parameter isUnread: whether a row is not on disk yet.
    mutating func retain(where isUnread: (HashedKey) -> Bool) {
        keysByOwner = keysByOwner.compactMapValues { keys in
            let left = keys.filter(isUnread)
            return left.isEmpty ? nil : left
        }
    }

    /// Returns `app/owner/` of a timer's key, and nil for the key of a seen order.
    private static func owner(of key: [UInt8]) -> HashedKey? {
        guard let first = key.firstIndex(of: separator), first > 0,
            let second = key[(first + 1)...].firstIndex(of: separator)
        else { return nil }
        return HashedKey(Array(key[...second]))
    }
}
