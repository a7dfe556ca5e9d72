internal import Sends
internal import StageSupport
internal import Store

/// The index rows of scopes that the lane has changed and the view has not read back. The view has all others.
struct UnreadGroupIndex {
    private struct Group {
        var positions: [HashedKey: [UInt8]] = [:]
        /// The positions in order. Nil after a change.
        var sorted: [[UInt8]]?
    }

    /// The number of rows at which those that were read back are first removed.
    private static let countAtFirstRemoval = 4096

    /// The rows of each kind and group, by the beginning of their keys in the view.
    private var groups: [[UInt8]: Group] = [:]
    private(set) var count = 0
    private var countAtRemoval = countAtFirstRemoval

    /// - Parameters:
    ///   - key: the topic's key of the scope.
    ///   - isUnread: whether the view may not have a key yet.
    mutating func insert(_ row: GroupIndex.Row, of key: HashedKey, isUnread: (HashedKey) -> Bool) {
        if count >= countAtRemoval {
            removeReadRows(isUnread: isUnread)
            countAtRemoval = max(Self.countAtFirstRemoval, 2 * count)
        }
        let prefix = GroupIndexRow.prefix(of: row.kind, in: row.group)
        let replaced = groups[prefix, default: Group()].positions.updateValue(row.position, forKey: key)
        if replaced == nil {
            count += 1
            groups[prefix]?.sorted = nil
        }
    }

    private mutating func removeReadRows(isUnread: (HashedKey) -> Bool) {
        for (prefix, group) in groups {
            let left = group.positions.filter { isUnread($0.key) }
            count -= group.positions.count - left.count
            groups[prefix] = left.isEmpty ? nil : Group(positions: left, sorted: nil)
        }
    }

    /// Returns the first entries in a range, in order, from the view and from the rows that it has not read back.
    mutating func entries(
        of kind: GroupIndex.Kind, in group: ScopeKey, range: KeyRange, countMax: Int, with view: TopicView?
    ) throws(StoreError) -> [GroupIndex.Entry] {
        var positions = Array(positions(of: kind, in: group, range: range, countMax: countMax))
        let unreadCount = positions.count
        if let view, countMax > 0 {
            let prefix = GroupIndexRow.prefix(of: kind, in: group)
            let end = range.upper.map { prefix + $0 } ?? KeyRange(prefix: prefix).upper
            var rows = KeyRange(from: prefix + range.lower, upTo: end)
            _ = try view.readPage(of: &rows, rows: countMax) { key, _ in
                positions.append([UInt8](copying: key.extracting(prefix.count..<key.count)))
            }
        }
        if unreadCount > 0, positions.count > unreadCount {
            // The view also has some of the unread rows.
            positions = Set(positions).sorted { $0.span.compare(to: $1.span) < 0 }
        }
        return positions.prefix(countMax).map { GroupIndex.Entry(position: $0) }
    }

    /// Returns the first unread positions in a range, in order.
    private mutating func positions(
        of kind: GroupIndex.Kind, in group: ScopeKey, range: KeyRange, countMax: Int
    ) -> ArraySlice<[UInt8]> {
        if count == 0 { return [] }
        let prefix = GroupIndexRow.prefix(of: kind, in: group)
        guard let found = groups[prefix] else { return [] }
        let sorted =
            found.sorted ?? found.positions.values.sorted { $0.span.compare(to: $1.span) < 0 }
        if found.sorted == nil { groups[prefix]?.sorted = sorted }
        let first = Self.index(of: range.lower, in: sorted)
        let end = range.upper.map { Self.index(of: $0, in: sorted) } ?? sorted.count
        return sorted[first..<max(first, end)].prefix(countMax)
    }

    /// Returns the index of the first position that is not before another one, by binary search.
    private static func index(of position: [UInt8], in sorted: [[UInt8]]) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            let other = sorted[middle]
            if other.span.compare(to: position.span) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
