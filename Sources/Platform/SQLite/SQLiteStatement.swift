internal import CSQLite

/// A prepared statement. It keeps its connection open. It belongs to one scope or object; store it in a
/// property if it runs often.
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

    /// Runs the statement to its end and drops its result.
    ///
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
        try bind(values)
        // A statement that is not reset keeps its snapshot of the file.
        defer { unsafe sqlite3_reset(pointer) }
        let row = unsafe SQLiteRow(pointer: pointer)
        while true {
            let code = unsafe sqlite3_step(pointer)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw connection.error(forCode: code) }
            body(row)
        }
    }

    private borrowing func bind(_ values: [SQLValue]) throws(SQLiteError) {
        let wanted = unsafe Int(sqlite3_bind_parameter_count(pointer))
        precondition(values.count == wanted, "the statement needs \(wanted) values")
        for (index, value) in values.enumerated() {
            let place = Int32(index + 1)
            let code: Int32
            switch value {
            case .null: code = unsafe sqlite3_bind_null(pointer, place)
            case .integer(let number): code = unsafe sqlite3_bind_int64(pointer, place, number)
            case .text(var text):
                code = text.withUTF8 { bytes in
                    unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                        // A null address would bind a null instead of an empty text.
                        unsafe sqlite_bind_text_copied(
                            pointer, place, bytes.baseAddress ?? Self.nothing, UInt64(bytes.count))
                    }
                }
            case .bytes(let bytes):
                code = unsafe bytes.withUnsafeBytes { bytes in
                    unsafe bytes.isEmpty
                        ? sqlite3_bind_zeroblob(pointer, place, 0)
                        : sqlite_bind_blob_copied(pointer, place, bytes.baseAddress, UInt64(bytes.count))
                }
            }
            if code != SQLITE_OK { throw connection.error(forCode: code) }
        }
    }

    /// One static byte.
    private static var nothing: UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(("" as StaticString).utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
