internal import CSQLite

/// A connection to a file. It is closed when its `SQLiteDatabase` and the last `SQLiteStatement` are gone.
/// All of them must stay on one thread at a time, because the file is opened without SQLite's own locks.
@safe final class SQLiteConnection {
    let pointer: OpaquePointer
    let path: String
    let busyMilliseconds: Int
    /// Called while a statement runs. The connection retains it for SQLite, which has only its address.
    private var interruption: Interruption?
    /// The operations of a statement between two calls: some 10 µs.
    private static let operationsBetweenChecks: Int32 = 1000

    private final class Interruption {
        let isDue: () -> Bool

        init(isDue: @escaping () -> Bool) { self.isDue = isDue }
    }

    init(path: String, flags: Int32, busyMilliseconds: Int) throws(SQLiteError) {
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        // A connection that could not be opened must be closed, too.
        guard code == SQLITE_OK, let pointer = unsafe opened else {
            let code = unsafe opened.map { unsafe sqlite3_extended_errcode($0) } ?? code
            unsafe sqlite3_close_v2(opened)
            throw SQLiteError(
                code: code, text: unsafe String(cString: sqlite3_errstr(code)), path: path,
                busyMilliseconds: busyMilliseconds)
        }
        unsafe self.pointer = unsafe pointer
        self.path = path
        self.busyMilliseconds = busyMilliseconds
        // Calls return error codes with their details, as `SQLiteError` expects.
        unsafe sqlite3_extended_result_codes(pointer, 1)
        unsafe sqlite3_busy_timeout(pointer, Int32(clamping: busyMilliseconds))
        // Statements cannot damage the structure of the file (SQLITE_DBCONFIG_DEFENSIVE).
        unsafe sqlite_defend(pointer)
    }

    /// Interrupts a running statement as soon as `isDue` returns true. The statement then throws
    /// `SQLiteError.interrupted`.
    func interruptStatements(when isDue: @escaping () -> Bool) {
        let interruption = Interruption(isDue: isDue)
        self.interruption = interruption
        unsafe sqlite3_progress_handler(
            pointer, Self.operationsBetweenChecks,
            { context in unsafe SQLiteConnection.isInterrupted(context) },
            Unmanaged.passUnretained(interruption).toOpaque())
    }

    private static func isInterrupted(_ context: UnsafeMutableRawPointer?) -> Int32 {
        guard let context = unsafe context else { return 0 }
        return unsafe Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue().isDue() ? 1 : 0
    }

    /// Runs statements without values. The text must never contain outside data.
    func execute(_ sql: String) throws(SQLiteError) {
        let code = unsafe sqlite3_exec(pointer, sql, nil, nil, nil)
        if code != SQLITE_OK { throw error(forCode: code) }
    }

    /// Returns SQLite's message about the last call as an error.
    func error(forCode code: Int32) -> SQLiteError {
        let text = unsafe String(cString: sqlite3_errmsg(pointer))
        return SQLiteError(code: code, text: text, path: path, busyMilliseconds: busyMilliseconds)
    }

    deinit { unsafe sqlite3_close_v2(pointer) }
}

extension SQLiteError {
    /// `SQLITE_IOERR_SHORT_READ`, a macro that Swift cannot import.
    private static let shortReadCode = SQLITE_IOERR | 2 << 8

    /// - Parameter code: an extended result code. Its low byte is the primary code.
    fileprivate init(code: Int32, text: String, path: String, busyMilliseconds: Int) {
        let primaryCode = code & 0xFF
        self =
            switch primaryCode {
            case SQLITE_FULL: .diskFull(path: path)
            case SQLITE_BUSY, SQLITE_LOCKED: .busy(path: path, milliseconds: busyMilliseconds)
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(path: path, damage: text)
            case SQLITE_INTERRUPT: .interrupted(path: path)
            // The file was truncated, so pages that it refers to are missing.
            case SQLITE_IOERR where code == Self.shortReadCode: .corrupt(path: path, damage: text)
            default: .refused(path: path, reason: "\(text) (\(code))")
            }
    }
}
