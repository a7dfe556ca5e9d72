internal import CSQLite

/// One row of a result. It is valid only within the closure of `SQLiteStatement.forEachRow`. Columns count
/// from 0. A column with another type is converted by SQLite's rules, so no content of a file can trap.
@safe package struct SQLiteRow: ~Copyable {
    private let pointer: OpaquePointer

    init(pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }

    package borrowing func isNull(at column: Int) -> Bool {
        unsafe sqlite3_column_type(pointer, Int32(column)) == SQLITE_NULL
    }

    /// Returns an integer, or 0 for a null.
    package borrowing func integer(at column: Int) -> Int64 {
        unsafe sqlite3_column_int64(pointer, Int32(column))
    }

    /// Returns a text, or nil for a null.
    package borrowing func text(at column: Int) -> String? {
        guard let text = unsafe sqlite3_column_text(pointer, Int32(column)) else { return nil }
        let byteCount = unsafe Int(sqlite3_column_bytes(pointer, Int32(column)))
        return unsafe String(decoding: UnsafeBufferPointer(start: text, count: byteCount), as: UTF8.self)
    }

    /// Returns bytes, or an empty array for a null.
    package borrowing func bytes(at column: Int) -> [UInt8] {
        guard let bytes = unsafe sqlite3_column_blob(pointer, Int32(column)) else { return [] }
        let byteCount = unsafe Int(sqlite3_column_bytes(pointer, Int32(column)))
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: byteCount))
    }
}
