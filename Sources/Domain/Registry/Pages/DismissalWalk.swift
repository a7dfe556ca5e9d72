internal import LiveActivity
internal import Store

/// The dismissals of a group, walked beside the start tokens. A group's activities are in the same order.
struct DismissalWalk: ~Copyable, ~Escapable {
    private var cursor: RowCursor
    private let since: Int64
    /// App and group, then recipient and installation.
    private var key: [UInt8]
    private let prefixBytes: Int
    private var lastResult = false
    /// False if the selection has no dismissals, or if no row can be in the group.
    let isNeeded: Bool

    @_lifetime(borrow picture)
    init(
        _ dismissals: TokenSelection.Dismissals?, app: [UInt8], in table: Table, from lower: [UInt8],
        snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) {
        var prefix = app
        let group = Array((dismissals?.group ?? "").utf8)
        isNeeded = NameCode.append(group.span, to: &prefix)
        since = dismissals?.since ?? 0
        key = prefix
        prefixBytes = prefix.count
        let start = prefix + lower
        cursor = try picture.cursor(of: table, from: start.span, isNeeded: isNeeded)
    }

    /// Whether the installation has a dismissal. Calls must be in order, and may repeat an installation.
    ///
    /// - Parameter holder: Recipient and installation.
    @_lifetime(self: copy self)
    mutating func contains(_ holder: Span<UInt8>) throws(StoreError) -> Bool {
        if key.span.extracting(prefixBytes..<key.count).equals(holder) { return lastResult }
        key.removeSubrange(prefixBytes...)
        key.append(holder)
        lastResult = try Self.hasDismissal(key, since: since, with: &cursor)
        return lastResult
    }

    @_lifetime(cursor: copy cursor)
    private static func hasDismissal(
        _ key: [UInt8], since: Int64, with cursor: inout RowCursor
    ) throws(StoreError) -> Bool {
        var isFound = false
        _ = try cursor.advance(to: key.span)
        while cursor.isOnRow, cursor.key.hasPrefix(key.span) {
            if let at = TokenValue.dismissedAt(in: try cursor.value), at >= since { isFound = true }
            try cursor.advance()
        }
        return isFound
    }
}
