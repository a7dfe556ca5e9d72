internal import Store

/// A walk through the activities of a group, in parallel to a walk through start tokens. It finds the
/// installations on which the person swiped an activity of the group away. Both walks are in the order of
/// holders (recipient and installation), so no row is read twice.
struct DismissalWalk: ~Copyable, ~Escapable {
    private var cursor: RowCursor
    /// Milliseconds since 1970. Older dismissals do not count.
    private let since: Int64
    /// The prefix of the last holder's rows in `updates`: app and group, then the holder.
    private var key: [UInt8]
    /// The length of app and group.
    private let groupPrefixBytes: Int
    private var lastResult = false
    /// False if the selection asks for no dismissals, or if its group is not a valid name.
    let isNeeded: Bool

    @_lifetime(borrow snapshot)
    init(
        _ dismissals: TokenSelection.Dismissals?, app: [UInt8], in table: Table, from lower: [UInt8],
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        var groupPrefix = app
        // Without dismissals the name is empty, which is invalid.
        let group = Array((dismissals?.group ?? "").utf8)
        isNeeded = NameCode.append(group.span, to: &groupPrefix)
        since = dismissals?.since ?? 0
        key = groupPrefix
        groupPrefixBytes = groupPrefix.count
        let start = groupPrefix + lower
        cursor = try snapshot.cursor(of: table, from: start.span, isNeeded: isNeeded)
    }

    /// Whether the holder has a dismissal. Holders must come in order, and may be repeated.
    @_lifetime(self: copy self)
    mutating func contains(_ holder: Span<UInt8>) throws(StoreError) -> Bool {
        if key.span.extracting(groupPrefixBytes..<key.count).equals(holder) { return lastResult }
        key.removeSubrange(groupPrefixBytes...)
        key.append(holder)
        lastResult = try Self.hasDismissal(key, since: since, with: &cursor)
        return lastResult
    }

    @_lifetime(cursor: copy cursor)
    private static func hasDismissal(
        _ key: [UInt8], since: Int64, with cursor: inout RowCursor
    ) throws(StoreError) -> Bool {
        var hasDismissal = false
        _ = try cursor.advance(to: key.span)
        while cursor.isOnRow, cursor.key.hasPrefix(key.span) {
            if let dismissedAt = TokenValue.dismissedAt(in: try cursor.value), dismissedAt >= since {
                hasDismissal = true
            }
            try cursor.advance()
        }
        return hasDismissal
    }
}
