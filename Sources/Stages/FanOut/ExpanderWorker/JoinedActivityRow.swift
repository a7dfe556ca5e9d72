internal import JSON
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Store

/// The rows of a view that are the lane's indexes of joined activities (`JoinedActivity`). The view stores them as derived
/// rows of the activities' scopes. A key is a mark, the app, the group and the position. A value is the time of the scope's
/// row. An index row leaves with the row that it is derived from, because both have the same time.
enum JoinedActivityRow {
    /// The first byte of the key. No key of the topic begins with it.
    static let marker: UInt8 = 1
    /// The byte behind app and group, which no name contains.
    private static let separator: UInt8 = 0
    private static let joinedField = Array(#""joined":"#.utf8)

    /// The beginning of all keys of a group.
    static func prefix(of group: ScopeKey) -> [UInt8] {
        [marker] + Array(group.app.utf8) + [separator] + Array((group.group ?? "").utf8) + [separator]
    }

    /// - Returns: false for a row of another kind, and for an activity that has joined no group.
    @Sendable
    static func writeRow(forKey key: Span<UInt8>, value: Span<UInt8>, to row: inout DerivedRow) -> Bool {
        guard key.isOfActivityWithoutGroup, value.end(ofFirst: joinedField) != nil,
            let scopeKey = unsafe key.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }),
            case .activity(let activity) = scopeKey.subject, let time = RowTime.last(in: value),
            let group = (try? LaneScope.decode([UInt8](copying: value), with: JSONReader()))?.joinedGroup
        else { return false }
        row.key = prefix(of: group) + JoinedActivity(id: activity).position
        guard row.key.count <= ScopesRowOrder.keyBytesMax else { return false }
        row.value.removeAll(keepingCapacity: true)
        RowTime.append(time, to: &row.value)
        return true
    }
}

/// The second row that the view of `starts` stores for a record. Its value begins with the time of the record's row.
enum ScopesDerivation {
    /// Whether the key is of such a row. No key of the topic begins with these bytes.
    static func isKey(_ key: Span<UInt8>) -> Bool {
        key.count > 0 && (key[0] == NewestStart.marker || key[0] == JoinedActivityRow.marker)
    }

    /// Returns the time in milliseconds since 1970.
    static func time(of value: Span<UInt8>) -> Int64? {
        value.count >= RowTime.byteCount ? RowTime.number(in: value) : nil
    }

    @Sendable
    static func writeRow(forKey key: Span<UInt8>, value: Span<UInt8>, to row: inout DerivedRow) -> Bool {
        NewestStart.writeRow(forKey: key, value: value, to: &row)
            || JoinedActivityRow.writeRow(forKey: key, value: value, to: &row)
    }
}

/// The index rows of the records that a view has not read back. The view has all others.
struct UnreadJoinedActivities {
    private var keys: Set<[UInt8]> = []

    /// Takes a record of `starts`. Nearly all have no index row.
    mutating func insert(_ record: [UInt8], under key: HashedKey) {
        var row = DerivedRow()
        guard JoinedActivityRow.writeRow(forKey: key.bytes.span, value: record.span, to: &row) else { return }
        keys.insert(row.key)
    }

    /// Returns the first activities in a range of positions, in order, with those of the view.
    func activities(
        of group: ScopeKey, in range: KeyRange, countMax: Int, with view: TopicView?
    ) throws(StoreError) -> [JoinedActivity] {
        let prefix = JoinedActivityRow.prefix(of: group)
        let end = range.upper.map { prefix + $0 } ?? KeyRange(prefix: prefix).upper
        var rows = KeyRange(from: prefix + range.lower, upTo: end)
        // The view also has some of the unread rows.
        var found = keys.filter { key in
            !key.lexicographicallyPrecedes(rows.lower)
                && end.map { key.lexicographicallyPrecedes($0) } ?? true
        }
        let hasUnread = !found.isEmpty
        var read: [[UInt8]] = []
        if let view, countMax > 0 {
            _ = try view.readPage(of: &rows, rows: countMax) { key, _ in read.append([UInt8](copying: key)) }
        }
        if hasUnread {
            found.formUnion(read)
            read = found.sorted { $0.lexicographicallyPrecedes($1) }
        }
        return read.prefix(countMax).map { JoinedActivity(position: Array($0.dropFirst(prefix.count))) }
    }
}
