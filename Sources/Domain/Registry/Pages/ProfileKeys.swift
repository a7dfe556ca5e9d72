internal import Store

/// The keys of the two profiles that belong to a token's row: the user's and the installation's. Tokens and
/// profiles are in the order of recipients, so a walk through tokens moves a cursor through the profiles in
/// parallel. It meets each profile once and needs no lookup.
struct ProfileKeys {
    /// The length of the app's number, with which both keys begin.
    private let appBytes: Int
    /// The length of the recipient's code in `user`.
    private var recipientBytes = 0
    /// The key of the profile that a backend set for the user.
    private(set) var user: [UInt8]
    /// The key of the profile that the phone reported.
    private(set) var installation: [UInt8]

    init(app: [UInt8]) {
        appBytes = app.count
        user = app
        installation = app
    }

    /// Moves to the next row. Rows must come in order. Returns whether the recipient changed.
    ///
    /// - Parameter suffix: The part of the row's key that starts with the recipient.
    mutating func move(to suffix: Span<UInt8>) -> Bool {
        let recipientEnd = RecipientCode.end(in: suffix)
        var holderEnd = recipientEnd
        NameCode.skip(suffix, at: &holderEnd)
        installation.removeSubrange(appBytes...)
        installation.append(suffix.extracting(0..<holderEnd))
        let recipient = suffix.extracting(0..<recipientEnd)
        let isSameRecipient =
            recipientBytes == recipientEnd
            && user.span.extracting(appBytes..<appBytes + recipientBytes).equals(recipient)
        if isSameRecipient { return false }
        recipientBytes = recipientEnd
        user.removeSubrange(appBytes...)
        user.append(recipient)
        user.append(NameCode.Tag.none)
        return true
    }
}

extension RowCursor {
    /// The number of rows to step over before a seek. A step costs a tenth of a seek.
    private static var stepsBeforeSeekMax: Int { 8 }

    /// Moves forward to a key, or to the first key behind it, and returns whether the key exists.
    @_lifetime(self: copy self)
    mutating func advance(to target: Span<UInt8>) throws(StoreError) -> Bool {
        var steps = 0
        while isOnRow {
            let order = key.order(to: target)
            if order >= 0 { return order == 0 }
            steps += 1
            if steps <= Self.stepsBeforeSeekMax { try advance() } else { try seek(to: target) }
        }
        return false
    }
}
