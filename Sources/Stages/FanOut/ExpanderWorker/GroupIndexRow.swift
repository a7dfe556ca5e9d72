internal import JSON
internal import RecordFormat
internal import Sends
internal import StageSupport

/// The rows of a view that are the lane's indexes of groups (`GroupIndex`). The view stores them as derived rows of
/// scopes. A key is the kind, the app, the group and the position. A value is the time of the scope's row. An index row
/// leaves with the row that it is derived from, because both have the same time.
enum GroupIndexRow {
    /// The byte behind app and group, which no name contains.
    private static let separator: UInt8 = 0
    private static let joinedField = Array(#""joined":"#.utf8)

    /// The beginning of all keys of one kind in a group. No key of the topic begins with such a byte.
    static func prefix(of kind: GroupIndex.Kind, in group: ScopeKey) -> [UInt8] {
        [kind.rawValue] + Array(group.app.utf8) + [separator] + Array((group.group ?? "").utf8) + [separator]
    }

    static func isKey(_ key: Span<UInt8>) -> Bool {
        key.count > 0 && GroupIndex.Kind(rawValue: key[0]) != nil
    }

    /// - Returns: false for a row that no index contains.
    @Sendable
    static func writeRow(forKey key: Span<UInt8>, value: Span<UInt8>, to row: inout DerivedRow) -> Bool {
        guard LedgerKeyParts(key) == nil,
            let scopeKey = unsafe key.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }),
            let indexed = indexed(value, under: scopeKey), let time = RowTime.last(in: value)
        else { return false }
        row.key = prefix(of: indexed.kind, in: indexed.group) + indexed.position
        guard row.key.count <= ScopesRowOrder.keyBytesMax else { return false }
        row.value.removeAll(keepingCapacity: true)
        RowTime.append(time, to: &row.value)
        return true
    }

    /// Only the row of an activity is decoded, and only if it has a joined group.
    private static func indexed(_ value: Span<UInt8>, under key: ScopeKey) -> GroupIndex.Row? {
        if key.recipient != nil { return GroupIndex.Row(LaneScope(), under: key) }
        guard case .activity = key.subject, value.end(ofFirst: joinedField) != nil,
            let scope = try? LaneScope.decode([UInt8](copying: value), with: JSONReader())
        else { return nil }
        return GroupIndex.Row(scope, under: key)
    }

    /// Returns the time in milliseconds since 1970.
    static func time(of value: Span<UInt8>) -> Int64? {
        value.count == RowTime.byteCount ? RowTime.number(in: value) : nil
    }
}

/// The second row that the view of `starts` stores for a record.
enum ScopesDerivation {
    @Sendable
    static func writeRow(forKey key: Span<UInt8>, value: Span<UInt8>, to row: inout DerivedRow) -> Bool {
        NewestStart.writeRow(forKey: key, value: value, to: &row)
            || GroupIndexRow.writeRow(forKey: key, value: value, to: &row)
    }
}
