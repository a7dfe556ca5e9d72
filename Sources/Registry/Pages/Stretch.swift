internal import Store

/// Parts of keys behind a common beginning: from `lower`, included, up to `upper`, excluded.
struct Bounds {
    var lower: [UInt8]
    /// Nil is the end.
    var upper: [UInt8]?
}

/// The rows of a table that begin alike, one after the other.
struct Stretch: ~Copyable, ~Escapable {
    private var cursor: RowCursor
    private let prefixBytes: Int
    /// The first key that is not inside; nil is the end of the table.
    private let end: [UInt8]?
    private(set) var isInside = false

    /// - Parameter prefix: nil for no rows at all.
    @_lifetime(borrow picture)
    init(
        of picture: borrowing Picture, in table: Table, prefix: [UInt8]?, within bounds: Bounds
    ) throws(StoreError) {
        let beginning = prefix ?? []
        prefixBytes = beginning.count
        end = bounds.upper.map { beginning + $0 } ?? beginning.behindPrefix
        let lower = beginning + bounds.lower
        cursor = try picture.cursor(of: table, from: lower.span, isNeeded: prefix != nil)
        isInside = prefix != nil && Self.isInside(cursor, end)
    }

    var key: Span<UInt8> { @_lifetime(copy self) get { cursor.key } }
    var value: Span<UInt8> {
        @_lifetime(copy self)
        get throws(StoreError) { try cursor.value }
    }
    /// The key behind the beginning.
    var suffix: Span<UInt8> {
        @_lifetime(copy self)
        get {
            let key = cursor.key
            return key.extracting(prefixBytes..<key.count)
        }
    }

    @_lifetime(self: copy self)
    mutating func next() throws(StoreError) {
        try cursor.next()
        isInside = Self.isInside(cursor, end)
    }

    private static func isInside(_ cursor: borrowing RowCursor, _ end: [UInt8]?) -> Bool {
        guard cursor.isOnRow else { return false }
        guard let end else { return true }
        return cursor.key.order(to: end.span) < 0
    }
}
