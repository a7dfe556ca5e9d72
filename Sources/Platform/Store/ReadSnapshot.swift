internal import CLMDB

/// One unchanging snapshot of the tables. The returned bytes are in the file's map and are not copied. The
/// compiler rejects a span that outlives the snapshot, and a write while a span is held.
///
/// It belongs to the scope of `LMDBEnvironment.read` or of a write transaction and is never stored. Keep it
/// short: pages that a snapshot can see are not reused while it is open. So a long scan reads page by page,
/// each in its own snapshot.
///
/// A row's stored bytes are its checksum and its value (`RowChecksum`).
@safe package struct ReadSnapshot: ~Copyable {
    private let transaction: OpaquePointer
    private let environment: LMDBEnvironment

    // If this is inlined into a generic caller, the optimizer of Swift 6.3.1 aborts.
    @inline(never) init(transaction: OpaquePointer, environment: LMDBEnvironment) {
        unsafe self.transaction = transaction
        self.environment = environment
    }

    var progressTable: Table { environment.progressTable }
    var path: String { environment.path }
    var owningEnvironment: LMDBEnvironment { environment }

    func openCursor(over table: Table) throws(StoreError) -> LMDBCursor {
        environment.preconditionOwns(table)
        return unsafe try environment.makeCursor(transaction: transaction, table: table)
    }

    /// Returns the value of a key, or nil. A row with a wrong checksum is corruption.
    @_lifetime(borrow self)
    package func value(of key: Span<UInt8>, in table: Table) throws(StoreError) -> Span<UInt8>? {
        environment.preconditionOwns(table)
        try EnvironmentLimits.checkKeySize(of: key)
        var value = unsafe MDB_val()
        let result = unsafe key.withMDBValue { key in
            unsafe mdb_get(transaction, table.number, &key, &value)
        }
        if result == MDB_NOTFOUND { return nil }
        guard result == 0 else { throw environment.error(forResult: result, action: "read") }
        let stored = unsafe _overrideLifetime(Span(value), borrowing: self)
        guard RowChecksum.isValid(key: key, stored: stored) else { throw StoreError.changedRow(path: path) }
        return stored.extracting(RowChecksum.byteCount..<stored.count)
    }

    /// Calls `body` with up to `rowsMax` rows of the range in key order, and leaves the unread rest in
    /// `range`. A body that reads a value must check it with `RowChecksum` first.
    ///
    /// - Returns: Whether more rows may follow.
    package func readPage(
        of table: Table, range: inout KeyRange, rowsMax: Int,
        body: (_ key: Span<UInt8>, _ stored: Span<UInt8>) -> Void
    ) throws(StoreError) -> Bool {
        precondition(rowsMax > 0, "rowsMax must be positive")
        var remainingRows = rowsMax
        var unreadRange = range
        try scan(table, range: range) { key, stored in
            body(key, stored)
            remainingRows -= 1
            guard remainingRows == 0 else { return .next }
            unreadRange.advance(past: key)
            return .stop
        }
        range = unreadRange
        return remainingRows == 0
    }

    /// Calls `body` with the rows of the range in key order, until it returns `stop`. A bound may be longer
    /// than any key. A body that reads a value must check it with `RowChecksum` first.
    package func scan(
        _ table: Table, range: KeyRange = .everything,
        body: (_ key: Span<UInt8>, _ stored: Span<UInt8>) -> ScanStep
    ) throws(StoreError) {
        environment.preconditionOwns(table)
        let cursor = unsafe try environment.makeCursor(transaction: transaction, table: table)
        // A bound that is longer than any key is cut to one byte more than the longest key. So it keeps its place
        // among the keys.
        let lower = range.lower.span.extracting(first: EnvironmentLimits.keyBytesMax + 1)
        let upper = range.upper?.span
        var value = unsafe MDB_val()
        let result: Int32 = unsafe lower.withMDBValue { key in
            var result = unsafe mdb_cursor_get(
                cursor.handle, &key, &value, key.mv_size == 0 ? MDB_FIRST : MDB_SET_RANGE)
            while result == 0 {
                if let upper, unsafe !upper.isAbove(key) { break }
                if unsafe body(Span(key), Span(value)) == .stop { break }
                result = unsafe mdb_cursor_get(cursor.handle, &key, &value, MDB_NEXT)
            }
            return result
        }
        guard result == 0 || result == MDB_NOTFOUND else {
            throw environment.error(forResult: result, action: "scan")
        }
    }

    /// Returns the sums of the tables in the order of opening.
    func tableSums() throws(StoreError) -> [TableSum] {
        let key = TableSums.key
        guard let value = try value(of: key.span, in: progressTable),
            let sums = TableSums.parse(value), sums.map(\.name) == environment.tableNames
        else { throw .corrupt(path: path, damage: "the sums of the tables are missing") }
        return sums.map(\.sum)
    }

    /// Returns the number of rows of a table.
    package func count(of table: Table) throws(StoreError) -> Int {
        environment.preconditionOwns(table)
        var stat = MDB_stat()
        let result = unsafe mdb_stat(transaction, table.number, &stat)
        guard result == 0 else { throw environment.error(forResult: result, action: "count") }
        return stat.ms_entries
    }
}

/// The answer of a scan's body to one row: continue with the next row, or stop.
package enum ScanStep: Sendable {
    case next
    case stop
}
