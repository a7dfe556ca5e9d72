internal import CLMDB

/// Changes that become visible together or not at all. Owned by the scope of `Environment.write` and
/// pinned to its thread: it can be neither stored nor sent, and is committed or aborted when the
/// scope ends, whatever happens inside. It reads its own changes through `view`.
@safe package struct WriteTransaction: ~Copyable {
    package let view: ReadView
    private let transaction: OpaquePointer
    private let environment: Environment
    /// The first failure that LMDB does not forgive; the transaction then ends as an abort, even when
    /// the body swallowed the error.
    private(set) var failure: StoreError?
    private(set) var isRolledBack = false
    private var checked: [UInt8] = []

    // Not inlined for the reason given at `ReadView`.
    @inline(never) init(_ transaction: OpaquePointer, of environment: Environment) {
        unsafe self.transaction = transaction
        self.environment = environment
        unsafe view = ReadView(transaction, of: environment)
    }

    /// Ends the transaction without effect when the body returns.
    package mutating func rollBack() { isRolledBack = true }

    package mutating func put(_ key: Span<UInt8>, _ value: Span<UInt8>, in table: Table) throws(StoreError) {
        environment.check(table)
        try Limits.check(key)
        let result = unsafe key.withValue { key in
            unsafe value.withValue { value in unsafe mdb_put(transaction, table.number, &key, &value, 0) }
        }
        if result != 0 { throw fail(result, "write") }
    }

    /// With the sum before the value that `ReadView.checkedValue` wants.
    package mutating func putChecked(
        _ key: Span<UInt8>, _ value: Span<UInt8>, in table: Table
    ) throws(StoreError) {
        var buffer: [UInt8] = []
        swap(&buffer, &checked)
        defer { swap(&buffer, &checked) }
        RowCheck.write(key, value, to: &buffer)
        try put(key, buffer.span, in: table)
    }

    /// Returns whether there was such a row.
    @discardableResult
    package mutating func remove(_ key: Span<UInt8>, in table: Table) throws(StoreError) -> Bool {
        environment.check(table)
        try Limits.check(key)
        let result = unsafe key.withValue { key in unsafe mdb_del(transaction, table.number, &key, nil) }
        if result == MDB_NOTFOUND { return false }
        if result != 0 { throw fail(result, "remove a row from") }
        return true
    }

    /// Removes the first `rowsMax` rows of the range and returns how many there were.
    @discardableResult
    package mutating func remove(_ range: KeyRange, in table: Table, rowsMax: Int) throws(StoreError) -> Int {
        var keys = RowBatch()
        try view.scan(table, range) { key, _ in
            guard keys.count < rowsMax else { return .stop }
            keys.remove(key)
            return .goOn
        }
        try apply(keys, to: table)
        return keys.count
    }

    package mutating func empty(_ table: Table) throws(StoreError) {
        environment.check(table)
        let result = unsafe mdb_drop(transaction, table.number, 0)
        if result != 0 { throw fail(result, "empty a table of") }
    }

    /// Makes every change of the batch in its order. A sorted batch is faster when its rows are
    /// neighbours: the cursor stays on its page.
    package mutating func apply(_ batch: borrowing RowBatch, to table: Table) throws(StoreError) {
        try apply(batch, to: table, flags: 0)
    }

    /// The same for rows that come in order and behind everything that the table has: nothing is looked
    /// for, and pages become full.
    package mutating func append(_ batch: borrowing RowBatch, to table: Table) throws(StoreError) {
        try apply(batch, to: table, flags: UInt32(MDB_APPEND))
    }

    private mutating func apply(
        _ batch: borrowing RowBatch, to table: Table, flags: UInt32
    ) throws(StoreError) {
        environment.check(table)
        let cursor = unsafe try environment.cursor(transaction, table)
        for index in 0..<batch.count {
            let key = batch.key(index)
            try Limits.check(key)
            let result: Int32 = unsafe key.withValue { key in
                guard let value = batch.value(index) else {
                    let result = unsafe mdb_del(transaction, table.number, &key, nil)
                    return result == MDB_NOTFOUND ? 0 : result
                }
                return unsafe value.withValue { value in
                    unsafe mdb_cursor_put(cursor.handle, &key, &value, flags)
                }
            }
            if result != 0 { throw fail(result, "write") }
        }
    }

    /// Belongs into the transaction that changes the rows; see `Applied`.
    package mutating func setApplied(_ applied: Applied, of partition: TopicPartition) throws(StoreError) {
        try putChecked(partition.key.span, applied.bytes.span, in: environment.appliedTable)
    }

    private mutating func fail(_ result: Int32, _ action: String) -> StoreError {
        let error = environment.failure(result, action)
        failure = failure ?? error
        return error
    }
}
