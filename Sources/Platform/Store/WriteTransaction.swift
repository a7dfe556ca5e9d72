internal import CLMDB

/// Changes that become visible together or not at all. The scope of `Environment.write` owns it, and it is
/// pinned to its thread. It can be neither stored nor sent. It is committed or aborted when the scope ends.
/// It reads its own changes through `picture`.
@safe package struct WriteTransaction: ~Copyable {
    package let picture: Picture
    private let transaction: OpaquePointer
    private let environment: Environment
    /// The first fatal failure of LMDB. The transaction is then aborted, even if the body swallowed the
    /// error.
    private(set) var failure: StoreError?
    private(set) var isRolledBack = false
    private var stored: [UInt8] = []
    /// One cursor for each changed table, at its last change.
    private var cursors: [OpaquePointer?]
    /// The present sums of the tables. Empty before the first change.
    private var sums: [TableSum] = []

    // It is not inlined for the reason given at `Picture`.
    @inline(never) init(_ transaction: OpaquePointer, of environment: Environment) {
        unsafe self.transaction = transaction
        self.environment = environment
        unsafe picture = Picture(transaction, of: environment)
        unsafe cursors = []
    }

    /// Ends the transaction without effect when the body returns.
    package mutating func rollBack() { isRolledBack = true }

    package mutating func put(_ key: Span<UInt8>, _ value: Span<UInt8>, in table: Table) throws(StoreError) {
        var buffer: [UInt8] = []
        swap(&buffer, &stored)
        defer { swap(&buffer, &stored) }
        RowCheck.write(key, value, to: &buffer)
        var open = unsafe try open(table)
        unsafe try write(key, buffer.span, to: &open)
        unsafe leave(open)
    }

    /// Removes a row and returns whether it existed.
    @discardableResult
    package mutating func remove(_ key: Span<UInt8>, in table: Table) throws(StoreError) -> Bool {
        var open = unsafe try open(table)
        let wasThere = unsafe try remove(key, &open)
        unsafe leave(open)
        return wasThere
    }

    /// Removes the first `rowsMax` rows of the range and returns their number.
    @discardableResult
    package mutating func remove(_ range: KeyRange, in table: Table, rowsMax: Int) throws(StoreError) -> Int {
        var keys = RowBatch()
        try picture.scan(table, range) { key, _ in
            guard keys.count < rowsMax else { return .stop }
            keys.remove(key)
            return .goOn
        }
        try apply(keys, to: table)
        return keys.count
    }

    package mutating func empty(_ table: Table) throws(StoreError) {
        var open = unsafe try open(table)
        let result = unsafe mdb_drop(transaction, table.number, 0)
        if result != 0 { throw fail(result, "empty a table of") }
        unsafe open.sum = TableSum()
        unsafe leave(open)
    }

    /// Applies every change of the batch in order. Its rows must contain their checksums. A sorted batch is
    /// faster for neighboring rows, because the cursor stays on its page.
    package mutating func apply(_ batch: borrowing RowBatch, to table: Table) throws(StoreError) {
        var open = unsafe try open(table)
        for index in 0..<batch.count {
            if let stored = batch.value(index) {
                unsafe try write(batch.key(index), stored, to: &open)
            } else {
                _ = unsafe try remove(batch.key(index), &open)
            }
        }
        unsafe leave(open)
    }

    /// Appends sorted rows behind all rows of the table. It needs no search, and it fills the pages.
    package mutating func append(_ batch: borrowing RowBatch, to table: Table) throws(StoreError) {
        var open = unsafe try open(table)
        for index in 0..<batch.count {
            guard let stored = batch.value(index) else {
                preconditionFailure("an appended batch must not contain removals")
            }
            let key = batch.key(index)
            try Limits.check(key)
            let result = unsafe key.withValue { key in
                unsafe stored.withValue { value in
                    unsafe mdb_cursor_put(open.cursor, &key, &value, UInt32(MDB_APPEND))
                }
            }
            if result != 0 { throw fail(result, "write") }
            unsafe open.sum.add(Self.sum(stored))
        }
        unsafe leave(open)
    }

    /// A table that is being written. LMDB closes the cursor with the transaction.
    @unsafe private struct OpenTable {
        let index: Int
        let cursor: OpaquePointer
        var sum: TableSum
    }

    @unsafe private mutating func open(_ table: Table) throws(StoreError) -> OpenTable {
        environment.check(table)
        if sums.isEmpty {
            sums = try picture.sums()
            unsafe cursors = Array(repeating: nil, count: sums.count)
        }
        let index = Int(table.number - LMDBFile.firstTable)
        if let cursor = unsafe cursors[index] {
            return unsafe OpenTable(index: index, cursor: cursor, sum: sums[index])
        }
        var cursor: OpaquePointer?
        let result = unsafe mdb_cursor_open(transaction, table.number, &cursor)
        guard result == 0, let cursor = unsafe cursor else { throw fail(result, "write") }
        unsafe cursors[index] = unsafe cursor
        return unsafe OpenTable(index: index, cursor: cursor, sum: sums[index])
    }

    /// Stores the sum of the table. After a failed change it is not called, because the transaction is
    /// aborted.
    private mutating func leave(_ open: OpenTable) { unsafe sums[open.index] = unsafe open.sum }

    private static func sum(_ stored: Span<UInt8>) -> UInt32 {
        guard let sum = RowCheck.sum(of: stored) else { preconditionFailure("a row has no checksum") }
        return sum
    }

    /// Writes a row. The put finds the replaced row, so no separate lookup is needed.
    private mutating func write(
        _ key: Span<UInt8>, _ stored: Span<UInt8>, to open: inout OpenTable
    ) throws(StoreError) {
        try Limits.check(key)
        let result: Int32 = unsafe key.withValue { key in
            unsafe stored.withValue { value in
                var found = unsafe value
                let result = unsafe mdb_cursor_put(open.cursor, &key, &found, UInt32(MDB_NOOVERWRITE))
                guard result == MDB_KEYEXIST else { return result }
                guard let replaced = unsafe RowCheck.sum(of: Span(found)) else { return MDB_CORRUPTED }
                unsafe open.sum.remove(replaced)
                return unsafe mdb_cursor_put(open.cursor, &key, &value, UInt32(MDB_CURRENT))
            }
        }
        if result != 0 { throw fail(result, "write") }
        unsafe open.sum.add(Self.sum(stored))
    }

    private mutating func remove(_ key: Span<UInt8>, _ open: inout OpenTable) throws(StoreError) -> Bool {
        try Limits.check(key)
        let result: Int32 = unsafe key.withValue { key in
            var found = unsafe MDB_val()
            let result = unsafe mdb_cursor_get(open.cursor, &key, &found, MDB_SET)
            guard result == 0 else { return result }
            guard let removed = unsafe RowCheck.sum(of: Span(found)) else { return MDB_CORRUPTED }
            unsafe open.sum.remove(removed)
            return unsafe mdb_cursor_del(open.cursor, 0)
        }
        if result == MDB_NOTFOUND { return false }
        if result != 0 { throw fail(result, "remove a row from") }
        return true
    }

    /// Writes the sums. It is the last write of the transaction.
    mutating func enterSums() throws(StoreError) {
        if sums.isEmpty { return }
        let key = TableSums.key
        let row = TableSums.row(environment.names, sums)
        let result = unsafe key.span.withValue { key in
            unsafe row.span.withValue { value in
                unsafe mdb_put(transaction, LMDBFile.firstTable, &key, &value, 0)
            }
        }
        if result != 0 { throw fail(result, "write") }
    }

    /// Sets the applied offset. It must be in the transaction that changes the rows (see `Applied`).
    package mutating func setApplied(
        _ applied: Applied, of topic: String, _ partition: Int32
    ) throws(StoreError) {
        try put(Applied.key(topic, partition).span, applied.bytes.span, in: environment.appliedTable)
    }

    private mutating func fail(_ result: Int32, _ action: String) -> StoreError {
        let error = environment.failure(result, action)
        failure = failure ?? error
        return error
    }
}
