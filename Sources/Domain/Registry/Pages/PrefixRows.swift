internal import Store

/// An iterator over the rows of a table whose keys have a common prefix. While `isInside`, it is on a row.
struct PrefixRows: ~Copyable, ~Escapable {
    private var cursor: RowCursor
    private let prefixBytes: Int
    /// The first key behind the range, or nil for the end of the table.
    private let end: [UInt8]?
    private(set) var isInside = false

    /// - Parameters:
    ///   - prefix: The common prefix, or nil for no rows and no look-up.
    ///   - range: The range of the keys without the prefix. Its upper end is outside of it.
    @_lifetime(borrow snapshot)
    init(
        of snapshot: borrowing ReadSnapshot, in table: Table, prefix: [UInt8]?,
        within range: KeyRange = .everything
    ) throws(StoreError) {
        let commonPrefix = prefix ?? []
        prefixBytes = commonPrefix.count
        end = range.upper.map { commonPrefix + $0 } ?? commonPrefix.firstKeyAfterPrefix
        let lower = commonPrefix + range.lower
        cursor = try snapshot.cursor(of: table, from: lower.span, isNeeded: prefix != nil)
        isInside = prefix != nil && Self.isInside(cursor, before: end)
    }

    var key: Span<UInt8> { @_lifetime(copy self) get { cursor.key } }
    var value: Span<UInt8> {
        @_lifetime(copy self)
        get throws(StoreError) { try cursor.value }
    }
    /// The part of the key behind the prefix.
    var suffix: Span<UInt8> {
        @_lifetime(copy self)
        get {
            let key = cursor.key
            return key.extracting(prefixBytes..<key.count)
        }
    }

    @_lifetime(self: copy self)
    mutating func next() throws(StoreError) {
        try cursor.advance()
        isInside = Self.isInside(cursor, before: end)
    }

    private static func isInside(_ cursor: borrowing RowCursor, before end: [UInt8]?) -> Bool {
        guard cursor.isOnRow else { return false }
        guard let end else { return true }
        return cursor.key.compare(to: end.span) < 0
    }
}
