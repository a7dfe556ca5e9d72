internal import Stages

/// The timers of a partition that the view may not have yet, by owner: whoever asks for an owner's would else look
/// through everything that is committed and not read back. One too many does no harm.
struct UnreadTimers {
    private static let separator = UInt8(ascii: "/")

    private var keys: [KeyBytes: Set<KeyBytes>] = [:]

    var isEmpty: Bool { keys.isEmpty }

    /// A row was committed.
    mutating func add(_ key: KeyBytes) {
        if let owner = Self.owner(of: key.bytes) { keys[owner, default: []].insert(key) }
    }

    /// - Parameter prefix: of the owner's keys.
    subscript(prefix: KeyBytes) -> Set<KeyBytes> { keys[prefix] ?? [] }

    /// Forgets what the view has by now.
    ///
    /// - Parameter isUnread: whether a row is not on disk yet.
    mutating func settle(_ isUnread: (KeyBytes) -> Bool) {
        keys = keys.compactMapValues { keys in
            let left = keys.filter(isUnread)
            return left.isEmpty ? nil : left
        }
    }

    /// `app/owner/` of a timer's key; nil of a seen order's.
    private static func owner(of key: [UInt8]) -> KeyBytes? {
        guard let first = key.firstIndex(of: separator), first > 0,
            let second = key[(first + 1)...].firstIndex(of: separator)
        else { return nil }
        return KeyBytes(Array(key[...second]))
    }
}
