internal import Store

/// A range of keys behind a common prefix: from `lower` inclusive to `upper` exclusive.
struct KeyBounds {
    var lower: [UInt8]
    /// Nil means no upper bound.
    var upper: [UInt8]?
}

/// The rows of a table with a common key prefix, one after the other.
struct PrefixRows: ~Copyable, ~Escapable {
    private var cursor: RowCursor
    private let prefixBytes: Int
    /// The first key outside the range, or nil for the end of the table.
    private let end: [UInt8]?
    private(set) var isInside = false

    /// - Parameter prefix: The common prefix, or nil for no rows.
    @_lifetime(borrow snapshot)
    init(
        of snapshot: borrowing ReadSnapshot, in table: Table, prefix: [UInt8]?, within bounds: KeyBounds
    ) throws(StoreError) {
        let beginning = prefix ?? []
        prefixBytes = beginning.count
        end = bounds.upper.map { beginning + $0 } ?? beginning.firstKeyAfterPrefix
        let lower = beginning + bounds.lower
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
        return cursor.key.order(to: end.span) < 0
    }
}
