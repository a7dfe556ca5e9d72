internal import CLMDB
internal import Synchronization

/// One LMDB file and its tables: any number of reads beside one write.
///
/// The file is written without sync, so a power cut can lose data (`StateFile` detects it). It is never
/// written through the map, so a full disk is an error of one write and not a signal. The file must be open
/// only once, in one process. `DirectoryLock` ensures that.
///
/// `@unchecked Sendable`. LMDB says: "a thread can only use one transaction at a time" (scopes ensure that,
/// and `MDB_NOTLS` lifts it for reads). All threads may use the environment itself. Only a thread that holds
/// `writeLock`, and `readWriteLock` exclusively, changes `handle` and `isClosed`. So either lock is enough to
/// read them.
///
/// `UnusedFiles` closes a file that nothing uses, and the next use opens it again. An open file needs three
/// descriptors, and an installation has more than a hundred files.
@safe package final class LMDBEnvironment: @unchecked Sendable {
    package let path: String
    let limits: EnvironmentLimits
    let progressTable: Table
    private let tables: [String: Table]
    let tableNames: [String]
    private let environmentID: Int
    /// Held by reads, and exclusively while the file is opened, closed or mapped anew.
    private let readWriteLock = ReadWriteLock()
    /// Held by the one writer. A thread that takes both locks takes this one first.
    private let writeLock = WriteLock()
    /// Nil if the file is closed, was not used for some time, or could not be reopened yet.
    private var handle: OpaquePointer?
    private var isClosed = false
    /// Whether the file was used since the last call of `closeIfUnused`.
    private let wasUsed = Atomic(true)
    /// A finished read transaction that the next read renews. A new one allocates memory and registers a
    /// reader under a lock of the whole file, which cost more than the lookup of a row. While it is idle it
    /// sees no data and holds no pages.
    private let idleReadTransaction = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    private static let lastEnvironmentID = Atomic(0)

    /// Opens or creates `data.mdb` in the directory, with these tables.
    package init(directory: String, tables names: [String], limits: EnvironmentLimits = EnvironmentLimits())
        throws(StoreError)
    {
        precondition(Set(names).count == names.count, "table names must be unique")
        self.limits = limits
        self.tableNames = [AppliedProgress.tableName] + names
        path = StateFilePath.data(in: directory)
        let environmentID = Self.lastEnvironmentID.wrappingAdd(1, ordering: .relaxed).newValue
        self.environmentID = environmentID
        progressTable = Table(number: LMDBFile.firstTable, environmentID: environmentID)
        let firstNamedTable = LMDBFile.firstTable + 1
        tables = Dictionary(
            uniqueKeysWithValues: zip(
                names,
                names.indices.map {
                    Table(number: firstNamedTable + UInt32($0), environmentID: environmentID)
                }))
        unsafe handle = try LMDBFile.open(at: path, tables: self.tableNames, limits: limits)
        UnusedFiles.shared.add(self)
    }

    deinit {
        endIdleReadTransaction()
        if let handle = unsafe handle { unsafe mdb_env_close(handle) }
    }

    /// Returns a table. A name that was not given at opening is a programming error.
    package func table(named name: String) -> Table {
        guard let table = tables[name] else { preconditionFailure("table \(name) was not opened") }
        return table
    }

    /// Runs the body on one unchanging snapshot. The body must not write to this environment: a write that
    /// must move the map would wait for this read.
    package func read<R>(_ body: (borrowing ReadSnapshot) throws(StoreError) -> R) throws(StoreError) -> R {
        recordUse()
        readWriteLock.lockForReading()
        defer { readWriteLock.unlock() }
        let transaction = unsafe try beginRead()
        defer { unsafe keepIdle(transaction) }
        return try body(unsafe ReadSnapshot(transaction: transaction, environment: self))
    }

    /// Runs the body and commits its changes. If the body throws or rolls back, it commits nothing.
    ///
    /// If the map is too small, the changes are undone, the map grows, and the body runs again from the
    /// start. So the body must have no effect outside its transaction.
    package func write<R>(_ body: (inout WriteTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
        recordUse()
        writeLock.lock()
        defer { writeLock.unlock() }
        growMapIfNeeded()
        while true {
            do throws(StoreError) {
                return try attemptWrite(body)
            } catch .mapFull(_, _) {
                try growMap()
            }
        }
    }

    /// Writes all commits to the disk, and waits for it.
    package func sync() throws(StoreError) {
        writeLock.lock()
        defer { writeLock.unlock() }
        let result = unsafe try mdb_env_sync(openHandle(), 1)
        guard result == 0 else { throw error(forResult: result, action: "sync") }
    }

    /// Closes the file if it was not used since the last call, and if no thread uses it now. The next use
    /// opens it again. The data stay in the memory of the kernel, as after the death of a process.
    func closeIfUnused() {
        let wasUsedLately = wasUsed.exchange(false, ordering: .relaxed)
        guard !wasUsedLately, writeLock.tryLock() else { return }
        defer { writeLock.unlock() }
        guard readWriteLock.lockExclusively(withinMilliseconds: 0) else { return }
        defer { readWriteLock.unlock() }
        endIdleReadTransaction()
        if let oldHandle = unsafe handle { unsafe mdb_env_close(oldHandle) }
        unsafe handle = nil
    }

    private func recordUse() {
        // Many threads read. A store for each of them would move the cache line between processors.
        if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
    }

    /// The sizes, or zero while the file is closed.
    package var sizes: EnvironmentSizes {
        readWriteLock.lockForReading()
        defer { readWriteLock.unlock() }
        return unsafe LMDBFile.sizes(of: handle)
    }

    /// Closes the file when the last read has ended. Later calls throw.
    package func close() throws(StoreError) {
        writeLock.lock()
        defer { writeLock.unlock() }
        try withExclusiveAccess {
            if let oldHandle = unsafe handle { unsafe mdb_env_close(oldHandle) }
            unsafe handle = nil
            isClosed = true
        }
    }
}

// Helpers of `ReadSnapshot` and `WriteTransaction`.
extension LMDBEnvironment {
    func preconditionOwns(_ table: Table) {
        precondition(table.environmentID == environmentID, "the table belongs to another environment")
    }

    func makeCursor(transaction: OpaquePointer, table: Table) throws(StoreError) -> LMDBCursor {
        var cursor: OpaquePointer?
        let result = unsafe mdb_cursor_open(transaction, table.number, &cursor)
        guard result == 0, let cursor = unsafe cursor else { throw error(forResult: result, action: "scan") }
        return unsafe LMDBCursor(handle: cursor)
    }

    func error(forResult result: Int32, action: String) -> StoreError {
        LMDBFile.error(forResult: result, action: action, path: path, limits: limits)
    }
}

// Transactions, and the reopening of the file.
extension LMDBEnvironment {
    /// Runs the body in one transaction. Throws `mapFull` if the map is too small for it.
    private func attemptWrite<R>(
        _ body: (inout WriteTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let handle = unsafe try beginWrite()
        var transaction = unsafe WriteTransaction(transaction: handle, environment: self)
        let outcome: R
        do throws(StoreError) {
            outcome = try body(&transaction)
            if let failure = transaction.failure { throw failure }
            if !transaction.isRolledBack { try transaction.writeSums() }
        } catch {
            unsafe mdb_txn_abort(handle)
            throw error
        }
        if transaction.isRolledBack {
            unsafe mdb_txn_abort(handle)
            return outcome
        }
        let result = unsafe mdb_txn_commit(handle)
        guard result == 0 else { throw error(forResult: result, action: "write") }
        return outcome
    }

    private var closedError: StoreError { .refused(path: path, reason: "it is closed") }

    /// Returns the open file, and opens it if it is closed. The caller must hold `writeLock`.
    @unsafe private func openHandle() throws(StoreError) -> OpaquePointer {
        if isClosed { throw closedError }
        if let handle = unsafe handle { return unsafe handle }
        return unsafe try reopen()
    }

    /// Begins a read. The caller holds `readWriteLock` for reading, before and after.
    @unsafe private func beginRead() throws(StoreError) -> OpaquePointer {
        var transaction: OpaquePointer?
        var result = unsafe try startRead(into: &transaction)
        if result == MDB_PANIC {
            try reopenAfterPanic()
            result = unsafe try startRead(into: &transaction)
        }
        guard result == 0, let transaction = unsafe transaction else {
            throw error(forResult: result, action: "read")
        }
        return unsafe transaction
    }

    /// Starts a read. A file that is not open gives MDB_PANIC, like one that LMDB rejects, because the caller
    /// must reopen both.
    @unsafe private func startRead(into transaction: inout OpaquePointer?) throws(StoreError) -> Int32 {
        if isClosed { throw closedError }
        guard let handle = unsafe handle else { return MDB_PANIC }
        if let idleTransaction = unsafe takeIdleReadTransaction() {
            unsafe transaction = unsafe idleTransaction
            if unsafe mdb_txn_renew(idleTransaction) == 0 { return 0 }
            unsafe mdb_txn_abort(idleTransaction)
        }
        return unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    }

    /// Ends a read and keeps its transaction for the next read. Of several concurrent reads one is kept.
    @unsafe private func keepIdle(_ transaction: OpaquePointer) {
        unsafe mdb_txn_reset(transaction)
        let previous = unsafe idleReadTransaction.exchange(
            UnsafeMutableRawPointer(transaction), ordering: .acquiringAndReleasing)
        if let previous = unsafe previous { unsafe mdb_txn_abort(OpaquePointer(previous)) }
    }

    @unsafe private func takeIdleReadTransaction() -> OpaquePointer? {
        unsafe idleReadTransaction.exchange(nil, ordering: .acquiringAndReleasing).map { OpaquePointer($0) }
    }

    /// Ends the idle read before the file is closed or its map moves.
    private func endIdleReadTransaction() {
        if let idleTransaction = unsafe takeIdleReadTransaction() { unsafe mdb_txn_abort(idleTransaction) }
    }

    /// Reopens the file. The caller holds `readWriteLock` for reading, before and after. In between the lock
    /// is free, because a reopening must be alone. So the caller must check `isClosed` and `handle` again.
    private func reopenAfterPanic() throws(StoreError) {
        readWriteLock.unlock()
        defer { readWriteLock.lockForReading() }
        writeLock.lock()
        defer { writeLock.unlock() }
        // `beginWrite` reopens the file. Its transaction is not needed.
        unsafe mdb_txn_abort(try beginWrite())
    }

    /// Begins a write. After a failed write of a meta page, LMDB rejects every further transaction. The file
    /// is then reopened once.
    @unsafe private func beginWrite() throws(StoreError) -> OpaquePointer {
        var transaction: OpaquePointer?
        var result = unsafe try mdb_txn_begin(openHandle(), nil, 0, &transaction)
        if result == MDB_PANIC {
            result = unsafe try mdb_txn_begin(reopen(), nil, 0, &transaction)
        }
        guard result == 0, let transaction = unsafe transaction else {
            throw error(forResult: result, action: "write")
        }
        return unsafe transaction
    }

    /// Reopens the file. LMDB requires that it is closed first. If the reopening fails, there is no open file
    /// until a later call succeeds.
    @unsafe private func reopen() throws(StoreError) -> OpaquePointer {
        unsafe try withExclusiveAccess { () throws(StoreError) -> OpaquePointer in
            if let oldHandle = unsafe handle { unsafe mdb_env_close(oldHandle) }
            unsafe handle = nil
            let newHandle = unsafe try LMDBFile.open(at: path, tables: tableNames, limits: limits)
            unsafe handle = unsafe newHandle
            return unsafe newHandle
        }
    }

    /// Grows the map before a transaction fills it, because a body that runs twice costs twice.
    private func growMapIfNeeded() {
        if unsafe handle == nil { _ = unsafe try? openHandle() }
        let sizes = unsafe LMDBFile.sizes(of: handle)
        let isNearlyFull = sizes.usedBytes > sizes.mapBytes / 4 * 3
        if isNearlyFull { try? growMap() }
    }

    private func growMap() throws(StoreError) {
        let mapBytes = unsafe LMDBFile.sizes(of: handle).mapBytes
        guard let nextMapBytes = limits.mapBytes(after: mapBytes) else {
            throw .mapFull(path: path, limit: limits.mapBytesMax)
        }
        try withExclusiveAccess { () throws(StoreError) in
            let result = unsafe mdb_env_set_mapsize(handle, nextMapBytes)
            guard result == 0 else { throw error(forResult: result, action: "enlarge") }
        }
    }

    /// Runs the body while no read is open. The caller must hold `writeLock`.
    private func withExclusiveAccess<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        guard readWriteLock.lockExclusively(withinMilliseconds: limits.readersWaitMilliseconds) else {
            throw .readersBusy(path: path, milliseconds: limits.readersWaitMilliseconds)
        }
        defer { readWriteLock.unlock() }
        endIdleReadTransaction()
        return try body()
    }
}
