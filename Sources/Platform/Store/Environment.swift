internal import CLMDB
internal import Synchronization

/// One LMDB file and its tables: any number of reads beside one write.
///
/// The file is written without sync, so a power cut can lose data (`StateFile` detects it). It is never
/// written through the map, so a full disk is an error of one write and not a signal. Neither one process nor
/// two may open it twice. `DirectoryLock` ensures that.
///
/// `@unchecked Sendable`. LMDB says: "a thread can only use one transaction at a time" (scopes ensure that,
/// and `MDB_NOTLS` lifts it for reads). All threads may use the environment itself. `handle` and `isClosed`
/// change only while the gate is closed and by the thread that holds the turn. So holding either of the two
/// is enough to read them.
///
/// A file without use is closed by `UnusedFiles` and opened again by its next use. An open file needs three
/// descriptors, and an installation has more than a hundred files.
@safe package final class Environment: @unchecked Sendable {
    package let path: String
    let limits: Limits
    let appliedTable: Table
    private let tables: [String: Table]
    let names: [String]
    private let identity: Int
    private let gate = Gate()
    private let turn = Turn()
    /// Nil if the file is closed, was not used for some time, or could not be reopened yet.
    private var handle: OpaquePointer?
    private var isClosed = false
    /// Whether the file was used since the last call of `closeIfUnused`.
    private let wasUsed = Atomic(true)
    /// A finished read transaction that the next read renews. A new one allocates memory and registers a
    /// reader under a lock of the whole file, which cost more than the lookup of a row. While it rests it
    /// sees no data and holds no pages.
    private let resting = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    private static let identities = Atomic(0)

    /// Opens or creates `data.mdb` in the directory, with these tables.
    package init(directory: String, tables names: [String], limits: Limits = Limits()) throws(StoreError) {
        precondition(Set(names).count == names.count, "table names must be unique")
        self.limits = limits
        self.names = [Applied.tableName] + names
        path = directory + "/data.mdb"
        let identity = Self.identities.wrappingAdd(1, ordering: .relaxed).newValue
        self.identity = identity
        let first = LMDBFile.firstTable
        appliedTable = Table(number: first, environment: identity)
        tables = Dictionary(
            uniqueKeysWithValues: zip(
                names,
                names.indices.map { Table(number: first + 1 + UInt32($0), environment: identity) }))
        unsafe handle = try LMDBFile.open(path, tables: self.names, limits: limits)
        UnusedFiles.shared.add(self)
    }

    deinit {
        endResting()
        if let handle = unsafe handle { unsafe mdb_env_close(handle) }
    }

    /// Returns a table. A name that was not given at opening is a programming error.
    package func table(_ name: String) -> Table {
        guard let table = tables[name] else { preconditionFailure("table \(name) was not opened") }
        return table
    }

    /// Runs the body on one unchanging snapshot. The body must not write to this environment: a write that
    /// must move the map would wait for this read.
    package func read<R>(_ body: (borrowing Picture) throws(StoreError) -> R) throws(StoreError) -> R {
        noteUse()
        gate.enter()
        defer { gate.leave() }
        let transaction = unsafe try beginRead()
        defer { unsafe rest(transaction) }
        return try body(unsafe Picture(transaction, of: self))
    }

    /// Runs the body and commits its changes. If the body throws or rolls back, it commits nothing.
    ///
    /// If the map is too small, the changes are undone, the map grows, and the body runs again from the
    /// start. So the body must have no effect outside its transaction.
    package func write<R>(_ body: (inout WriteTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
        noteUse()
        turn.take()
        defer { turn.giveBack() }
        growAhead()
        while true {
            do throws(StoreError) {
                return try attempt(body)
            } catch .mapFull(_, _) {
                try grow()
            }
        }
    }

    /// Waits until all commits are on disk.
    package func sync() throws(StoreError) {
        turn.take()
        defer { turn.giveBack() }
        let result = unsafe try mdb_env_sync(opened(), 1)
        guard result == 0 else { throw failure(result, "sync") }
    }

    /// Closes the file if it was not used since the last call, and if no thread uses it now. The next use opens
    /// it again. The data stay in the memory of the kernel, as after the death of a process.
    func closeIfUnused() {
        guard !wasUsed.exchange(false, ordering: .relaxed), turn.takeIfFree() else { return }
        defer { turn.giveBack() }
        guard gate.close(withinMilliseconds: 0) else { return }
        defer { gate.leave() }
        endResting()
        if let open = unsafe handle { unsafe mdb_env_close(open) }
        unsafe handle = nil
    }

    /// A store only if the value changes, because many threads read.
    private func noteUse() {
        if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
    }

    /// The sizes, or zero while the file is closed.
    package var statistics: Statistics {
        gate.enter()
        defer { gate.leave() }
        return unsafe LMDBFile.statistics(handle)
    }

    /// Closes the file after the last read ended. Later calls throw.
    package func close() throws(StoreError) {
        turn.take()
        defer { turn.giveBack() }
        try alone {
            if let old = unsafe handle { unsafe mdb_env_close(old) }
            unsafe handle = nil
            isClosed = true
        }
    }
}

// Helpers of reads and transactions.
extension Environment {
    func check(_ table: Table) {
        precondition(table.environment == identity, "the table belongs to another environment")
    }

    func cursor(_ transaction: OpaquePointer, _ table: Table) throws(StoreError) -> Cursor {
        var cursor: OpaquePointer?
        let result = unsafe mdb_cursor_open(transaction, table.number, &cursor)
        guard result == 0, let cursor = unsafe cursor else { throw failure(result, "scan") }
        return unsafe Cursor(cursor)
    }

    func failure(_ result: Int32, _ action: String) -> StoreError {
        LMDBFile.error(result, action, path: path, limits: limits)
    }
}

extension Environment {
    private func attempt<R>(
        _ body: (inout WriteTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let handle = unsafe try begin()
        var transaction = unsafe WriteTransaction(handle, of: self)
        let outcome: R
        do throws(StoreError) {
            outcome = try body(&transaction)
            if let failure = transaction.failure { throw failure }
            if !transaction.isRolledBack { try transaction.enterSums() }
        } catch {
            unsafe mdb_txn_abort(handle)
            throw error
        }
        if transaction.isRolledBack {
            unsafe mdb_txn_abort(handle)
            return outcome
        }
        let result = unsafe mdb_txn_commit(handle)
        guard result == 0 else { throw failure(result, "write") }
        return outcome
    }

    private var closed: StoreError { .refused(path: path, reason: "it is closed") }

    /// Returns the open file. The caller must hold the turn. A failed opening is retried.
    @unsafe private func opened() throws(StoreError) -> OpaquePointer {
        if isClosed { throw closed }
        if let handle = unsafe handle { return unsafe handle }
        return unsafe try reopen()
    }

    /// Begins a read. It is called inside the gate and returns inside the gate.
    @unsafe private func beginRead() throws(StoreError) -> OpaquePointer {
        var transaction: OpaquePointer?
        var result = unsafe try startRead(&transaction)
        if result == MDB_PANIC {
            try heal()
            result = unsafe try startRead(&transaction)
        }
        guard result == 0, let transaction = unsafe transaction else { throw failure(result, "read") }
        return unsafe transaction
    }

    /// Starts a read. A file that could not be reopened is repaired in the same way as one that LMDB rejects:
    /// both give MDB_PANIC.
    @unsafe private func startRead(_ transaction: inout OpaquePointer?) throws(StoreError) -> Int32 {
        if isClosed { throw closed }
        guard let handle = unsafe handle else { return MDB_PANIC }
        if let rested = unsafe takeResting() {
            unsafe transaction = unsafe rested
            if unsafe mdb_txn_renew(rested) == 0 { return 0 }
            unsafe mdb_txn_abort(rested)
        }
        return unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    }

    @unsafe private func rest(_ transaction: OpaquePointer) {
        unsafe mdb_txn_reset(transaction)
        let other = unsafe resting.exchange(
            UnsafeMutableRawPointer(transaction), ordering: .acquiringAndReleasing)
        if let other = unsafe other { unsafe mdb_txn_abort(OpaquePointer(other)) }
    }

    @unsafe private func takeResting() -> OpaquePointer? {
        unsafe resting.exchange(nil, ordering: .acquiringAndReleasing).map { OpaquePointer($0) }
    }

    /// Ends the resting read before the file is closed or its map moves.
    private func endResting() {
        if let rested = unsafe takeResting() { unsafe mdb_txn_abort(rested) }
    }

    /// Reopens the file. It is called inside the gate and returns inside the gate, but leaves it in between,
    /// because a reopening must be alone. The caller must check again what it checked before.
    private func heal() throws(StoreError) {
        gate.leave()
        defer { gate.enter() }
        turn.take()
        defer { turn.giveBack() }
        unsafe mdb_txn_abort(try begin())
    }

    /// Begins a write. After a failed write of its head page, LMDB rejects every further transaction. The
    /// file is then reopened once.
    @unsafe private func begin() throws(StoreError) -> OpaquePointer {
        var transaction: OpaquePointer?
        var result = unsafe try mdb_txn_begin(opened(), nil, 0, &transaction)
        if result == MDB_PANIC {
            result = unsafe try mdb_txn_begin(reopen(), nil, 0, &transaction)
        }
        guard result == 0, let transaction = unsafe transaction else { throw failure(result, "write") }
        return unsafe transaction
    }

    /// Reopens the file. LMDB requires that it is closed first. If the reopening fails, there is no open file
    /// until a later call succeeds.
    @unsafe private func reopen() throws(StoreError) -> OpaquePointer {
        unsafe try alone { () throws(StoreError) -> OpaquePointer in
            if let old = unsafe handle { unsafe mdb_env_close(old) }
            unsafe handle = nil
            let new = unsafe try LMDBFile.open(path, tables: names, limits: limits)
            unsafe handle = unsafe new
            return unsafe new
        }
    }

    /// Grows the map before a transaction fills it, because a body that runs twice costs twice.
    private func growAhead() {
        if unsafe handle == nil { _ = unsafe try? opened() }
        let now = unsafe LMDBFile.statistics(handle)
        if now.usedBytes > now.mapBytes / 4 * 3 { try? grow() }
    }

    private func grow() throws(StoreError) {
        let now = unsafe LMDBFile.statistics(handle).mapBytes
        guard let next = limits.mapBytes(after: now) else {
            throw .mapFull(path: path, limit: limits.mapBytesMax)
        }
        try alone { () throws(StoreError) in
            let result = unsafe mdb_env_set_mapsize(handle, next)
            guard result == 0 else { throw failure(result, "enlarge") }
        }
    }

    private func alone<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        guard gate.close(withinMilliseconds: limits.readersWaitMilliseconds) else {
            throw .readersBusy(path: path, milliseconds: limits.readersWaitMilliseconds)
        }
        defer { gate.leave() }
        endResting()
        return try body()
    }
}
