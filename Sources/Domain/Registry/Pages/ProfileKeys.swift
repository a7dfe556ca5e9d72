internal import Store

/// The keys of the two profiles of a row: the user's and the installation's. Tokens and profiles have the
/// same order, so a walk over tokens moves through the profiles in parallel. It meets each profile once and
/// needs no lookup.
struct ProfileKeys {
    private let appBytes: Int
    private var recipientBytes = 0
    /// The key of the profile that a backend set for the user.
    private(set) var user: [UInt8]
    private(set) var installation: [UInt8]

    init(app: [UInt8]) {
        appBytes = app.count
        user = app
        installation = app
    }

    /// Moves to the next row. Rows must come in order. Returns whether the recipient changed.
    ///
    /// - Parameter suffix: The part of a key behind app and type, or behind app and group.
    mutating func move(to suffix: Span<UInt8>) -> Bool {
        let recipientEnd = RecipientCode.end(in: suffix)
        var end = recipientEnd
        NameCode.skip(suffix, at: &end)
        installation.removeSubrange(appBytes...)
        installation.append(suffix.extracting(0..<end))
        let recipient = suffix.extracting(0..<recipientEnd)
        if recipientBytes == recipientEnd,
            user.span.extracting(appBytes..<appBytes + recipientBytes).equals(recipient)
        {
            return false
        }
        recipientBytes = recipientEnd
        user.removeSubrange(appBytes...)
        user.append(recipient)
        user.append(NameCode.Tag.none)
        return true
    }
}

extension RowCursor {
    /// The rows to step over before it jumps. A step costs a tenth of a jump.
    private static var stepsBeforeSeekMax: Int { 8 }

    /// Moves forward to this key, or to the first key behind it, and returns whether the key exists.
    @_lifetime(self: copy self)
    mutating func advance(to wanted: Span<UInt8>) throws(StoreError) -> Bool {
        var steps = 0
        while isOnRow {
            let order = key.order(to: wanted)
            if order >= 0 { return order == 0 }
            steps += 1
            if steps <= Self.stepsBeforeSeekMax { try advance() } else { try seek(to: wanted) }
        }
        return false
    }
}
