internal import CLMDB
internal import Synchronization

/// One LMDB file and its tables: any number of reads beside one write.
///
/// It is written without sync, so what the machine loses at a power cut is lost (`StateFile` knows),
/// and never through the map, so a full disk is an error of one write and not a signal. It must not
/// be opened twice in a process, nor by two processes: `DirectoryLock` sees to that.
///
/// `@unchecked Sendable`. LMDB says: "a thread can only use one transaction at a time" (which scopes give, and for reads
/// `MDB_NOTLS` lifts); the environment itself may be used by all threads. `handle` and `isClosed`
/// change only while the gate is closed and by whoever has the turn: each of the two is enough to
/// look at them.
@safe package final class Environment: @unchecked Sendable {
    package let path: String
    let limits: Limits
    let appliedTable: Table
    private let tables: [String: Table]
    let names: [String]
    private let identity: Int
    private let gate = Gate()
    private let turn = Turn()
    /// Nil when the file is closed, or could not be opened again so far.
    private var handle: OpaquePointer?
    private var isClosed = false
    /// A read that has ended, for the next one to go on with: one that begins anew takes memory, and a place among the
    /// readers under a lock of the whole file, and that cost more than the look-up of a row. It sees nothing and holds
    /// no pages.
    private let resting = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    private static let identities = Atomic(0)

    /// Opens or creates `data.mdb` in the directory, with these tables.
    package init(directory: String, tables names: [String], limits: Limits = Limits()) throws(StoreError) {
        precondition(Set(names).count == names.count, "each table is named once")
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
    }

    deinit {
        endResting()
        if let handle = unsafe handle { unsafe mdb_env_close(handle) }
    }

    /// Asking for a table that was not named at opening is a fault in the program.
    package func table(_ name: String) -> Table {
        guard let table = tables[name] else { preconditionFailure("table \(name) was not opened") }
        return table
    }

    /// Runs the body on one unchanging picture. Never write to this environment within it: a write
    /// that has to move the map would wait for this read.
    package func read<R>(_ body: (borrowing Picture) throws(StoreError) -> R) throws(StoreError) -> R {
        gate.enter()
        defer { gate.leave() }
        let transaction = unsafe try beginRead()
        defer { unsafe rest(transaction) }
        return try body(unsafe Picture(transaction, of: self))
    }

    /// Runs the body and commits what it did, or nothing of it when it throws or rolls back.
    ///
    /// When the map turns out to be too small, the changes are undone, the map grows, and the body
    /// runs again from the start: it must have no effect but on its transaction.
    package func write<R>(_ body: (inout WriteTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
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

    /// Waits until everything committed is on disk.
    package func sync() throws(StoreError) {
        turn.take()
        defer { turn.giveBack() }
        let result = unsafe try mdb_env_sync(opened(), 1)
        guard result == 0 else { throw failure(result, "sync") }
    }

    package var statistics: Statistics {
        gate.enter()
        defer { gate.leave() }
        return unsafe LMDBFile.statistics(handle)
    }

    /// Closes the file when the last read has ended. Using the environment afterwards throws.
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

// What reads and transactions ask.
extension Environment {
    func check(_ table: Table) {
        precondition(table.environment == identity, "a table belongs to its environment")
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

    /// The open file; whoever asks has the turn. An opening that failed is tried again.
    @unsafe private func opened() throws(StoreError) -> OpaquePointer {
        if isClosed { throw closed }
        if let handle = unsafe handle { return unsafe handle }
        return unsafe try reopen()
    }

    /// Called, and returns, inside the gate.
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

    /// A file that could not be opened again needs the same cure as one that LMDB has given up.
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

    /// Before the file is closed, or its map moves.
    private func endResting() {
        if let rested = unsafe takeResting() { unsafe mdb_txn_abort(rested) }
    }

    /// Called, and returns, inside the gate, but works outside: opening again needs to be alone. What
    /// was looked at before has to be looked at again.
    private func heal() throws(StoreError) {
        gate.leave()
        defer { gate.enter() }
        turn.take()
        defer { turn.giveBack() }
        unsafe mdb_txn_abort(try begin())
    }

    /// A failed write of LMDB's own head page makes the environment refuse every further
    /// transaction; then the file is opened again, once.
    @unsafe private func begin() throws(StoreError) -> OpaquePointer {
        var transaction: OpaquePointer?
        var result = unsafe try mdb_txn_begin(opened(), nil, 0, &transaction)
        if result == MDB_PANIC {
            result = unsafe try mdb_txn_begin(reopen(), nil, 0, &transaction)
        }
        guard result == 0, let transaction = unsafe transaction else { throw failure(result, "write") }
        return unsafe transaction
    }

    /// LMDB wants a file closed before it is opened again: when that fails, there is none until the
    /// next call succeeds.
    @unsafe private func reopen() throws(StoreError) -> OpaquePointer {
        unsafe try alone { () throws(StoreError) -> OpaquePointer in
            if let old = unsafe handle { unsafe mdb_env_close(old) }
            unsafe handle = nil
            let new = unsafe try LMDBFile.open(path, tables: names, limits: limits)
            unsafe handle = unsafe new
            return unsafe new
        }
    }

    /// Makes room before a transaction could run out of it: a body that runs twice costs twice.
    private func growAhead() {
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
