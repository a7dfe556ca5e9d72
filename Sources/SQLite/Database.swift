internal import CSQLite

/// One SQLite file in WAL mode: one writer, and any number of readers beside it, each a `Database` of its own.
/// Pinned to one thread at a time.
///
/// What a killed process, or a machine that goes down, leaves is whole transactions; a machine may take the
/// last of them along, which is why what a file was built from, its offsets, lies in it.
package final class Database {
    package enum Role: Sendable {
        /// Makes the file when it is missing.
        case writer
        case reader
    }

    /// How long a call waits for another connection.
    package static let busyMilliseconds = 5000
    /// Of a connection, in memory.
    package static let cacheKibibytesUsual = 16_384

    let connection: Connection

    package init(
        _ path: String, as role: Role, cacheKibibytes: Int = Database.cacheKibibytesUsual
    ) throws(SQLiteError) {
        let flags =
            switch role {
            case .writer: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .reader: SQLITE_OPEN_READONLY
            }
        connection = try Connection(path, flags: flags, busyMilliseconds: Self.busyMilliseconds)
        // Pages are read by calls: through a map, a file that somebody cuts would end the process.
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

    /// Statements without values, one or several: tables, indices.
    package func execute(_ sql: String) throws(SQLiteError) { try connection.execute(sql) }

    /// Parsed once, run as often as needed.
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(sql, on: connection)
    }

    /// Everything the body does, or nothing of it when it throws.
    @discardableResult
    package func transaction<R>(_ body: () throws(SQLiteError) -> R) throws(SQLiteError) -> R {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            let result = try body()
            try connection.execute("COMMIT")
            return result
        } catch {
            // SQLite may have rolled back by itself, as it does when the disk is full.
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// The number that the file carries for its owner: which layout its tables have. 0 in a new one.
    package func schema() throws(SQLiteError) -> Int {
        var schema = 0
        let statement = try prepare("PRAGMA user_version")
        try statement.eachRow { row in schema = Int(row.integer(0)) }
        return schema
    }

    package func setSchema(_ schema: Int) throws(SQLiteError) {
        try connection.execute("PRAGMA user_version = \(schema)")
    }

    /// Reads all of the file, and tells the first thing that is wrong with its pages; nil when nothing is.
    package func damage() throws(SQLiteError) -> String? {
        var found: String?
        let statement = try prepare("PRAGMA quick_check(1)")
        try statement.eachRow { row in found = row.text(0) }
        return found == "ok" ? nil : found ?? "it cannot be checked"
    }

    /// Moves what the log beside the file has into the file.
    package func checkpoint() throws(SQLiteError) {
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
}
