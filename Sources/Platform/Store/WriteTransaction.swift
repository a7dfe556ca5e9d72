internal import CLMDB

/// Changes that become visible together or not at all. It reads its own changes through `snapshot`.
///
/// The scope of `LMDBEnvironment.write` owns it, commits or aborts it, and is pinned to its thread. It can be
/// neither stored nor sent.
@safe package struct WriteTransaction: ~Copyable {
    package let snapshot: ReadSnapshot
    private let transaction: OpaquePointer
    private let environment: LMDBEnvironment
    /// The first fatal failure of LMDB. The transaction is then aborted, even if the body swallowed the
    /// error.
    private(set) var failure: StoreError?
    private(set) var isRolledBack = false
    /// A buffer for a row's checksum and value. It keeps its memory from row to row.
    private var storedValue: [UInt8] = []
    /// One cursor for each changed table, at its last change.
    private var cursors: [OpaquePointer?]
    /// The current sums of the tables. Empty before the first change.
    private var tableSums: [TableSum] = []

    // If this is inlined into a generic caller, the optimizer of Swift 6.3.1 aborts.
    @inline(never) init(transaction: OpaquePointer, environment: LMDBEnvironment) {
        unsafe self.transaction = transaction
        self.environment = environment
        unsafe snapshot = ReadSnapshot(transaction: transaction, environment: environment)
        unsafe cursors = []
    }

    /// Ends the transaction without effect when the body returns.
    package mutating func rollBack() { isRolledBack = true }

    /// Writes a row, or replaces its value.
    package mutating func put(_ key: Span<UInt8>, value: Span<UInt8>, in table: Table) throws(StoreError) {
        // The buffer leaves this value during the call, because `write` changes this value while it reads the buffer.
        var buffer: [UInt8] = []
        swap(&buffer, &storedValue)
        defer { swap(&buffer, &storedValue) }
        RowChecksum.write(key: key, value: value, to: &buffer)
        var target = unsafe try openTable(table)
        unsafe try write(key: key, stored: buffer.span, to: &target)
        unsafe storeSum(of: target)
    }

    /// Removes a row and returns whether it existed.
    @discardableResult
    package mutating func remove(_ key: Span<UInt8>, in table: Table) throws(StoreError) -> Bool {
        var target = unsafe try openTable(table)
        let existed = unsafe try remove(key, from: &target)
        unsafe storeSum(of: target)
        return existed
    }

    /// Removes the first `rowsMax` rows of the range and returns their number.
    @discardableResult
    package mutating func remove(_ range: KeyRange, in table: Table, rowsMax: Int) throws(StoreError) -> Int {
        // A change would invalidate the rows of the scan, so the keys are collected first.
        var removals = RowBatch()
        try snapshot.scan(table, range: range) { key, _ in
            guard removals.count < rowsMax else { return .stop }
            removals.remove(key)
            return .next
        }
        try apply(removals, to: table)
        return removals.count
    }

    /// Removes all rows of a table.
    package mutating func removeAll(in table: Table) throws(StoreError) {
        var target = unsafe try openTable(table)
        let result = unsafe mdb_drop(transaction, table.number, 0)
        if result != 0 { throw recordFailure(result: result, action: "empty a table of") }
        unsafe target.sum = TableSum()
        unsafe storeSum(of: target)
    }

    /// Applies every change of the batch in order. Its rows must contain their checksums. A sorted batch is
    /// faster for neighboring rows, because the cursor stays on its page.
    package mutating func apply(_ batch: borrowing RowBatch, to table: Table) throws(StoreError) {
        var target = unsafe try openTable(table)
        defer { unsafe storeSum(of: target) }
        for index in 0..<batch.count {
            if let stored = batch.value(at: index) {
                unsafe try write(key: batch.key(at: index), stored: stored, to: &target)
            } else {
                _ = unsafe try remove(batch.key(at: index), from: &target)
            }
        }
    }

    /// Appends sorted rows behind all rows of the table. It needs no search, and it fills the pages.
    package mutating func append(_ batch: borrowing RowBatch, to table: Table) throws(StoreError) {
        var target = unsafe try openTable(table)
        defer { unsafe storeSum(of: target) }
        for index in 0..<batch.count {
            guard let stored = batch.value(at: index) else {
                preconditionFailure("an appended batch must not contain removals")
            }
            let key = batch.key(at: index)
            try EnvironmentLimits.checkKeySize(of: key)
            let result = unsafe key.withMDBValue { key in
                unsafe stored.withMDBValue { value in
                    unsafe mdb_cursor_put(target.cursor, &key, &value, UInt32(MDB_APPEND))
                }
            }
            if result != 0 { throw recordFailure(result: result, action: "write") }
            unsafe target.sum.add(rowChecksum: Self.checksum(in: stored))
        }
    }

    /// A table that is being written. LMDB closes the cursor with the transaction.
    @unsafe private struct OpenTable {
        let index: Int
        let cursor: OpaquePointer
        var sum: TableSum
    }

    /// Prepares a table for changes. Call `storeSum` after them.
    @unsafe private mutating func openTable(_ table: Table) throws(StoreError) -> OpenTable {
        environment.preconditionOwns(table)
        if tableSums.isEmpty {
            tableSums = try snapshot.tableSums()
            unsafe cursors = Array(repeating: nil, count: tableSums.count)
        }
        let index = Int(table.number - LMDBFile.firstTable)
        if let cursor = unsafe cursors[index] {
            return unsafe OpenTable(index: index, cursor: cursor, sum: tableSums[index])
        }
        var cursor: OpaquePointer?
        let result = unsafe mdb_cursor_open(transaction, table.number, &cursor)
        guard result == 0, let cursor = unsafe cursor else {
            throw recordFailure(result: result, action: "write")
        }
        unsafe cursors[index] = unsafe cursor
        return unsafe OpenTable(index: index, cursor: cursor, sum: tableSums[index])
    }

    /// Stores the sum of the table. A batch stores it even if a key has a wrong length, because the rows before that
    /// key are written, and the caller may commit them. After any other failure the transaction is aborted.
    private mutating func storeSum(of target: OpenTable) {
        unsafe tableSums[target.index] = unsafe target.sum
    }

    private static func checksum(in stored: Span<UInt8>) -> UInt32 {
        guard let sum = RowChecksum.storedChecksum(in: stored) else {
            preconditionFailure("a row has no checksum")
        }
        return sum
    }

    /// Writes a row. The put finds the replaced row, so no separate lookup is needed.
    private mutating func write(
        key: Span<UInt8>, stored: Span<UInt8>, to target: inout OpenTable
    ) throws(StoreError) {
        try EnvironmentLimits.checkKeySize(of: key)
        let result: Int32 = unsafe key.withMDBValue { key in
            unsafe stored.withMDBValue { value in
                // If the key exists, LMDB points this at the value of the existing row.
                var existingValue = unsafe value
                let result = unsafe mdb_cursor_put(
                    target.cursor, &key, &existingValue, UInt32(MDB_NOOVERWRITE))
                guard result == MDB_KEYEXIST else { return result }
                guard let replacedChecksum = unsafe RowChecksum.storedChecksum(in: Span(existingValue)) else {
                    return MDB_CORRUPTED
                }
                unsafe target.sum.remove(rowChecksum: replacedChecksum)
                return unsafe mdb_cursor_put(target.cursor, &key, &value, UInt32(MDB_CURRENT))
            }
        }
        if result != 0 { throw recordFailure(result: result, action: "write") }
        unsafe target.sum.add(rowChecksum: Self.checksum(in: stored))
    }

    /// Removes a row and returns whether it existed.
    private mutating func remove(_ key: Span<UInt8>, from target: inout OpenTable) throws(StoreError) -> Bool
    {
        try EnvironmentLimits.checkKeySize(of: key)
        let result: Int32 = unsafe key.withMDBValue { key in
            var existingValue = unsafe MDB_val()
            let result = unsafe mdb_cursor_get(target.cursor, &key, &existingValue, MDB_SET)
            guard result == 0 else { return result }
            guard let removedChecksum = unsafe RowChecksum.storedChecksum(in: Span(existingValue)) else {
                return MDB_CORRUPTED
            }
            unsafe target.sum.remove(rowChecksum: removedChecksum)
            return unsafe mdb_cursor_del(target.cursor, 0)
        }
        if result == MDB_NOTFOUND { return false }
        if result != 0 { throw recordFailure(result: result, action: "remove a row from") }
        return true
    }

    /// Writes the sums. It is the last write of the transaction.
    mutating func writeSums() throws(StoreError) {
        if tableSums.isEmpty { return }
        let key = TableSums.key
        let row = TableSums.makeRow(names: environment.tableNames, sums: tableSums)
        let result = unsafe key.span.withMDBValue { key in
            unsafe row.span.withMDBValue { value in
                unsafe mdb_put(transaction, LMDBFile.firstTable, &key, &value, 0)
            }
        }
        if result != 0 { throw recordFailure(result: result, action: "write") }
    }

    /// Sets the progress of a partition. It must be in the transaction that changes the rows (see
    /// `AppliedProgress`).
    package mutating func setAppliedProgress(
        _ progress: AppliedProgress, ofTopic topic: String, partition: Int32
    ) throws(StoreError) {
        try put(
            AppliedProgress.key(forTopic: topic, partition: partition).span, value: progress.bytes.span,
            in: environment.progressTable)
    }

    /// Notes the failure, so that the transaction is aborted, and returns it.
    private mutating func recordFailure(result: Int32, action: String) -> StoreError {
        let error = environment.error(forResult: result, action: action)
        failure = failure ?? error
        return error
    }
}
