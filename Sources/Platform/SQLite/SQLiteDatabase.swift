internal import CSQLite

/// A connection to one SQLite file in WAL mode. A file has one writer and any number of readers, and each has
/// its own `SQLiteDatabase`. It is confined to one thread at a time.
///
/// After a crash the file has whole transactions. A power failure can lose the last of them. Therefore the
/// file also stores the offsets that it was built from.
package final class SQLiteDatabase {
    package enum ConnectionRole: Sendable {
        /// Creates the file if it is missing.
        case writer
        case reader
    }

    /// The time that a call waits for the lock of another connection.
    package static let busyMilliseconds = 5000
    /// The default page cache of a connection.
    package static let cacheKibibytesDefault = 16_384

    let connection: SQLiteConnection

    package init(
        path: String, role: ConnectionRole, cacheKibibytes: Int = SQLiteDatabase.cacheKibibytesDefault
    ) throws(SQLiteError) {
        let flags =
            switch role {
            case .writer: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .reader: SQLITE_OPEN_READONLY
            }
        connection = try SQLiteConnection(path: path, flags: flags, busyMilliseconds: Self.busyMilliseconds)
        // No memory map: if someone truncated a mapped file, a read would end the process. A negative cache size is
        // in KiB.
        try connection.execute(
            """
            PRAGMA mmap_size = 0; PRAGMA cache_size = -\(cacheKibibytes); PRAGMA temp_store = MEMORY;
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON
            """)
        if role == .writer {
            try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        }
    }

    package var path: String { connection.path }

    /// Runs one or several statements without values, such as the creation of tables and indexes.
    package func execute(_ sql: String) throws(SQLiteError) { try connection.execute(sql) }

    /// Interrupts a running statement as soon as `isDue` returns true, which SQLite asks every thousand operations.
    /// The statement then throws `SQLiteError.interrupted`.
    package func interruptStatements(when isDue: @escaping () -> Bool) {
        connection.interruptStatements(when: isDue)
    }

    /// Prepares a statement that can run many times.
    package func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        try SQLiteStatement(sql: sql, connection: connection)
    }

    /// Runs the body in a transaction. If it throws, nothing of it is stored.
    @discardableResult
    package func runTransaction<R>(_ body: () throws(SQLiteError) -> R) throws(SQLiteError) -> R {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            let result = try body()
            try connection.execute("COMMIT")
            return result
        } catch {
            // SQLite may already have rolled back, for example because the disk is full.
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Returns the version of the file's tables, which the owner sets. It is 0 in a new file.
    package func schemaVersion() throws(SQLiteError) -> Int {
        var version = 0
        let statement = try prepare("PRAGMA user_version")
        try statement.forEachRow { row in version = Int(row.integer(at: 0)) }
        return version
    }

    package func setSchemaVersion(_ version: Int) throws(SQLiteError) {
        try connection.execute("PRAGMA user_version = \(version)")
    }

    /// Reads the whole file and returns the first damage of its pages, or nil.
    package func firstDamage() throws(SQLiteError) -> String? {
        var report: String?
        let statement = try prepare("PRAGMA quick_check(1)")
        try statement.forEachRow { row in report = row.text(at: 0) }
        if report == "ok" { return nil }
        return report ?? "the check gave no result"
    }

    /// Moves the content of the write-ahead log into the file, and empties the log.
    package func checkpoint() throws(SQLiteError) {
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
}
