internal import Identifiers
internal import Store

/// A walk through the profiles, in parallel to a walk through tokens. It tests a segment's program on the two profiles
/// that belong to each token's row: the user's and the installation's. Both walks are in the order of recipients, so
/// the cursor meets each profile once and needs no lookup.
struct ProfileWalk: ~Copyable, ~Escapable {
    /// Nil if the selection has no condition on profiles.
    private let program: SegmentProgram?
    private var cursor: RowCursor
    private var keys: ProfileKeys
    /// A copy of the profile that a backend set for the current user, because the cursor moves on from it. Empty
    /// without one.
    private var userProfile: [UInt8] = []

    /// - Parameter lower: The key at which the walk through tokens begins, from the recipient on.
    @_lifetime(borrow snapshot)
    init(
        testedBy program: SegmentProgram?, app: [UInt8], in table: Table, from lower: [UInt8],
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        self.program = program
        keys = ProfileKeys(app: app)
        // The profile of the user can sort before the token's row, but has the same bucket.
        let firstKey = app + lower.prefix(RecipientCode.bucketBytes)
        cursor = try snapshot.cursor(of: table, from: firstKey.span, isNeeded: program != nil)
    }

    var isNeeded: Bool { program != nil }

    /// Whether the program selects a token's row. Rows must come in order.
    ///
    /// - Parameters:
    ///   - suffix: The part of the row's key that starts with the recipient.
    ///   - value: The row's value (`TokenValue`).
    @_lifetime(self: copy self)
    mutating func matches(_ suffix: Span<UInt8>, value: Span<UInt8>) throws(StoreError) -> Bool {
        guard let program else { return true }
        if keys.move(to: suffix) {
            userProfile.removeAll(keepingCapacity: true)
            if try cursor.advance(to: keys.user) { userProfile.append(try cursor.value) }
        }
        let os = OSVersion.read(value, at: TokenValue.FieldOffset.os)
        guard try cursor.advance(to: keys.installation) else {
            return program.matches(user: userProfile.span, installation: Span(), os: os)
        }
        return program.matches(user: userProfile.span, installation: try cursor.value, os: os)
    }
}

/// The keys of the two profiles that belong to a token's row.
private struct ProfileKeys {
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

    /// Moves to the next row. Returns whether the recipient changed.
    ///
    /// - Parameter suffix: The part of the row's key that starts with the recipient.
    mutating func move(to suffix: Span<UInt8>) -> Bool {
        let recipient = suffix.extracting(first: RecipientCode.length(atStartOf: suffix))
        var holderEnd = recipient.count
        NameCode.skip(suffix, at: &holderEnd)
        installation.removeSubrange(appBytes...)
        installation.append(suffix.extracting(first: holderEnd))
        let isSameRecipient =
            recipientBytes == recipient.count
            && user.span.extracting(appBytes..<appBytes + recipientBytes).equals(recipient)
        if isSameRecipient { return false }
        recipientBytes = recipient.count
        user.removeSubrange(appBytes...)
        user.append(recipient)
        user.append(NameCode.Tag.none)
        return true
    }
}
