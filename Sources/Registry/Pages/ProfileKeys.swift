internal import Store

/// The keys of the two profiles that speak for a row: the user's and the installation's. Tokens and
/// profiles are in the same order, so whoever walks the tokens walks the profiles beside them: each is
/// met once and none is looked up.
struct ProfileKeys {
    private let appBytes: Int
    private var recipientBytes = 0
    /// What a backend said of the user.
    private(set) var user: [UInt8]
    private(set) var installation: [UInt8]

    init(app: [UInt8]) {
        appBytes = app.count
        user = app
        installation = app
    }

    /// Rows come in order. Returns whether this one's recipient is another than the last one's.
    ///
    /// - Parameter suffix: a key behind app and type, or behind app and group.
    mutating func move(to suffix: Span<UInt8>) -> Bool {
        let recipientEnd = RecipientCode.end(suffix)
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
    /// Steps over so many rows before it jumps: a step costs a tenth of a jump.
    private static var stepsMax: Int { 8 }

    /// Goes to this key, or behind where it would be, never back; returns whether it is there.
    @_lifetime(self: copy self)
    mutating func advance(to wanted: Span<UInt8>) throws(StoreError) -> Bool {
        var steps = 0
        while isOnRow {
            let order = key.order(to: wanted)
            if order >= 0 { return order == 0 }
            steps += 1
            if steps <= Self.stepsMax { try next() } else { try seek(wanted) }
        }
        return false
    }
}
