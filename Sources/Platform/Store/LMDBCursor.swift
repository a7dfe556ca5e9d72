internal import CLMDB

/// LMDB's cursor: a position in a table within one transaction. One scope owns it and closes it before the
/// transaction ends.
@safe struct LMDBCursor: ~Copyable {
    let handle: OpaquePointer

    init(handle: OpaquePointer) { unsafe self.handle = handle }

    deinit { unsafe mdb_cursor_close(handle) }
}
