internal import Identifiers
internal import StageSupport

/// The keys of committed timers that the view may not have read yet, by owner. Without them, a lookup of an owner's
/// timers would search the whole overlay. An extra key does no harm.
struct UnreadTimers {
    private static let separator = UInt8(ascii: "/")

    /// The keys by the owner's prefix, such as `app/owner/`.
    private var keysByOwner: [HashedKey: Set<HashedKey>] = [:]

    var isEmpty: Bool { keysByOwner.isEmpty }

    /// Adds the key of a committed row.
    mutating func add(_ key: HashedKey) {
        if let prefix = Self.ownerPrefix(of: key.bytes) { keysByOwner[prefix, default: []].insert(key) }
    }

    /// - Parameter prefix: the prefix of the owner's keys, such as `app/owner/`.
    subscript(prefix: HashedKey) -> Set<HashedKey> { keysByOwner[prefix] ?? [] }

    /// Returns the keys of all owners of an app.
    func keys(ofApp app: String) -> [HashedKey] {
        let prefix = RecordKey.join(app, "")
        return keysByOwner.flatMap { $0.key.bytes.starts(with: prefix) ? Array($0.value) : [] }
    }

    /// Forgets the keys that the view has now.
    ///
    /// - Parameter isUnread: whether a row is not on disk yet.
    mutating func retain(where isUnread: (HashedKey) -> Bool) {
        keysByOwner = keysByOwner.compactMapValues { keys in
            let unreadKeys = keys.filter(isUnread)
            return unreadKeys.isEmpty ? nil : unreadKeys
        }
    }

    /// Returns `app/owner/` of the timer key `app/owner/id`. Returns nil for the key of an idempotency row, which
    /// begins with a separator.
    private static func ownerPrefix(of key: [UInt8]) -> HashedKey? {
        guard let appEnd = key.firstIndex(of: separator), appEnd > 0,
            let ownerEnd = key[(appEnd + 1)...].firstIndex(of: separator)
        else { return nil }
        return HashedKey(Array(key[...ownerEnd]))
    }
}
