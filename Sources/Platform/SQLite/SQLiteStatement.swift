internal import CSQLite

/// A prepared statement of SQL. It keeps its connection open. Preparing parses the SQL, so a statement that
/// runs often belongs in a property.
@safe package struct SQLiteStatement: ~Copyable {
    private let pointer: OpaquePointer
    private let connection: SQLiteConnection

    init(sql: String, connection: SQLiteConnection) throws(SQLiteError) {
        var prepared: OpaquePointer?
        var text = sql
        let code = text.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                unsafe sqlite3_prepare_v3(
                    connection.pointer, bytes.baseAddress, Int32(clamping: bytes.count),
                    UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
            }
        }
        guard code == SQLITE_OK else { throw connection.error(forCode: code) }
        guard let pointer = unsafe prepared else { preconditionFailure("the text \(sql) has no statement") }
        unsafe self.pointer = unsafe pointer
        self.connection = connection
    }

    deinit { unsafe sqlite3_finalize(pointer) }

    /// Runs the statement to its end and drops its rows.
    ///
    /// - Parameter values: One for each placeholder, in order.
    /// - Returns: The number of changed rows.
    @discardableResult
    package borrowing func run(_ values: SQLValue...) throws(SQLiteError) -> Int {
        try forEachRow(values: values) { _ in }
        return unsafe Int(sqlite3_changes64(connection.pointer))
    }

    /// Passes each row of the result to `body`.
    package borrowing func forEachRow(
        values: [SQLValue] = [], body: (borrowing SQLiteRow) -> Void
    ) throws(SQLiteError) {
        try readRows(values: values) { row in
            body(row)
            return true
        }
    }

    /// Passes the rows of the result to `body`, until it returns false.
    package borrowing func readRows(
        values: [SQLValue] = [], body: (borrowing SQLiteRow) -> Bool
    ) throws(SQLiteError) {
        try bind(values)
        // A statement that is not reset keeps its snapshot of the file.
        defer { unsafe sqlite3_reset(pointer) }
        let row = unsafe SQLiteRow(pointer: pointer)
        while true {
            let code = unsafe sqlite3_step(pointer)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw connection.error(forCode: code) }
            if !body(row) { return }
        }
    }

    private borrowing func bind(_ values: [SQLValue]) throws(SQLiteError) {
        let parameterCount = unsafe Int(sqlite3_bind_parameter_count(pointer))
        precondition(values.count == parameterCount, "the statement needs \(parameterCount) values")
        for (index, value) in values.enumerated() {
            // SQLite counts parameters from 1.
            let code = bind(value, toParameter: Int32(index + 1))
            if code != SQLITE_OK { throw connection.error(forCode: code) }
        }
    }

    /// Returns SQLite's result code.
    private borrowing func bind(_ value: SQLValue, toParameter parameter: Int32) -> Int32 {
        switch value {
        case .null: return unsafe sqlite3_bind_null(pointer, parameter)
        case .integer(let number): return unsafe sqlite3_bind_int64(pointer, parameter, number)
        case .text(var text):
            return text.withUTF8 { bytes in
                unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                    // A null address would bind a null instead of an empty text.
                    unsafe sqlite_bind_text_copied(
                        pointer, parameter, bytes.baseAddress ?? Self.emptyText, UInt64(bytes.count))
                }
            }
        case .bytes(let bytes):
            return unsafe bytes.withUnsafeBytes { bytes in
                unsafe bytes.isEmpty
                    ? sqlite3_bind_zeroblob(pointer, parameter, 0)
                    : sqlite_bind_blob_copied(pointer, parameter, bytes.baseAddress, UInt64(bytes.count))
            }
        }
    }

    /// The address of a static empty text.
    private static var emptyText: UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(("" as StaticString).utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
