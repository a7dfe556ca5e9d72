internal import CLMDB

/// A position in a table. The caller moves it, so that it can walk several tables in parallel.
///
/// It belongs to one snapshot. Keys and values are read in place, from LMDB's map. They stay valid as long as
/// the snapshot, even if the cursor moves.
@safe package struct RowCursor: ~Copyable, ~Escapable {
    private let cursor: LMDBCursor
    private let environment: LMDBEnvironment
    private var currentKey = unsafe MDB_val()
    private var currentValue = unsafe MDB_val()
    /// False behind the last row, and before the first `seek`.
    package private(set) var isOnRow = false

    @_lifetime(borrow snapshot)
    init(cursor: consuming LMDBCursor, environment: LMDBEnvironment, snapshot: borrowing ReadSnapshot) {
        self.cursor = cursor
        self.environment = environment
    }

    /// The key of the row. It traps if the cursor is not on a row.
    package var key: Span<UInt8> {
        @_lifetime(copy self)
        get {
            precondition(isOnRow, "a cursor beyond the last row has no key")
            return unsafe _overrideLifetime(Span(currentKey), copying: self)
        }
    }

    /// The value of the row. A wrong checksum is corruption. It traps if the cursor is not on a row.
    package var value: Span<UInt8> {
        @_lifetime(copy self)
        get throws(StoreError) {
            precondition(isOnRow, "a cursor beyond the last row has no value")
            let stored = unsafe _overrideLifetime(Span(currentValue), copying: self)
            guard RowChecksum.isValid(key: key, stored: stored) else {
                throw StoreError.changedRow(path: environment.path)
            }
            return stored.extracting(RowChecksum.byteCount..<stored.count)
        }
    }

    /// Moves to the first row whose key is not below the bound. The bound may be longer than any key.
    @_lifetime(self: copy self)
    package mutating func seek(to bound: Span<UInt8>) throws(StoreError) {
        // A bound that is longer than any key is cut to one byte more than the longest key. So it keeps its place
        // among the keys.
        let bound = bound.extracting(first: EnvironmentLimits.keyBytesMax + 1)
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        let result: Int32 = unsafe bound.withMDBValue { bound in
            unsafe key = unsafe bound
            return unsafe mdb_cursor_get(
                cursor.handle, &key, &value, bound.mv_size == 0 ? MDB_FIRST : MDB_SET_RANGE)
        }
        unsafe try finishMove(result: result, key: key, value: value)
    }

    /// Moves to the next row.
    @_lifetime(self: copy self)
    package mutating func advance() throws(StoreError) {
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        let result = unsafe mdb_cursor_get(cursor.handle, &key, &value, MDB_NEXT)
        unsafe try finishMove(result: result, key: key, value: value)
    }

    @_lifetime(self: copy self)
    private mutating func finishMove(result: Int32, key: MDB_val, value: MDB_val) throws(StoreError) {
        isOnRow = result == 0
        unsafe currentKey = unsafe key
        unsafe currentValue = unsafe value
        guard result == 0 || result == MDB_NOTFOUND else {
            throw environment.error(forResult: result, action: "scan")
        }
    }
}

extension ReadSnapshot {
    /// Returns a cursor at the first row whose key is not below the bound.
    ///
    /// - Parameter isNeeded: False returns a cursor on no row, without a lookup, for a caller with an
    ///   optional bound.
    @_lifetime(borrow self)
    package func cursor(
        of table: Table, from bound: Span<UInt8>, isNeeded: Bool = true
    ) throws(StoreError) -> RowCursor {
        var cursor = RowCursor(
            cursor: try openCursor(over: table), environment: owningEnvironment, snapshot: self)
        if isNeeded { try cursor.seek(to: bound) }
        return cursor
    }
}
