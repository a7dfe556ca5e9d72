internal import CLMDB
internal import Glibc

/// The calls that open an LMDB file, and the translation of LMDB's error numbers.
enum LMDBFile {
    /// The number of the first table, which holds the applied offsets. LMDB numbers tables in the order of
    /// opening, after two internal tables.
    static let firstTable: UInt32 = 2

    /// The limit of concurrent readers over all threads.
    private static let readersMax: UInt32 = 512
    /// A disk with less free space counts as full.
    private static let freeBytesMin: UInt = 1 << 20

    /// Opens the file and its tables. Creates both if the file is missing.
    @unsafe static func open(
        at path: String, tables: [String], limits: EnvironmentLimits
    ) throws(StoreError) -> OpaquePointer {
        var environment: OpaquePointer?
        let result = unsafe mdb_env_create(&environment)
        guard result == 0, let environment = unsafe environment else {
            throw error(forResult: result, action: "open", path: path, limits: limits)
        }
        do throws(StoreError) {
            unsafe try prepare(environment, at: path, tables: tables, limits: limits)
        } catch {
            unsafe mdb_env_close(environment)
            throw error
        }
        return unsafe environment
    }

    /// Sets the limits of an environment and opens the file with its tables. If it throws, the caller closes the
    /// environment.
    @unsafe private static func prepare(
        _ environment: OpaquePointer, at path: String, tables: [String], limits: EnvironmentLimits
    ) throws(StoreError) {
        func check(_ result: Int32) throws(StoreError) {
            if result != 0 { throw error(forResult: result, action: "open", path: path, limits: limits) }
        }
        unsafe try check(mdb_env_set_maxreaders(environment, readersMax))
        unsafe try check(mdb_env_set_maxdbs(environment, UInt32(tables.count)))
        unsafe try check(mdb_env_set_mapsize(environment, limits.mapBytesAtStart))
        let flags = UInt32(MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS)
        unsafe try check(mdb_env_open(environment, path, flags, 0o600))

        var stat = MDB_stat()
        unsafe try check(mdb_env_stat(environment, &stat))
        var transaction: OpaquePointer?
        unsafe try check(mdb_txn_begin(environment, nil, 0, &transaction))
        let result = unsafe openTables(in: transaction, named: tables, areNew: stat.ms_entries == 0)
        guard result == 0 else {
            unsafe mdb_txn_abort(transaction)
            if result == MDB_NOTFOUND { throw .corrupt(path: path, damage: "a table is missing") }
            return try check(result)
        }
        unsafe try check(mdb_txn_commit(transaction))
    }

    /// Opens the tables, and creates them if the file is new. All tables and their sums are created in one
    /// transaction. A table that is missing later was lost.
    @unsafe private static func openTables(
        in transaction: OpaquePointer?, named tables: [String], areNew: Bool
    ) -> Int32 {
        for (index, name) in tables.enumerated() {
            var number: UInt32 = 0
            let result = unsafe mdb_dbi_open(transaction, name, areNew ? UInt32(MDB_CREATE) : 0, &number)
            guard result == 0 else { return result }
            precondition(number == firstTable + UInt32(index), "LMDB numbered a table in another order")
        }
        guard areNew else { return 0 }
        let key = TableSums.key
        let row = TableSums.makeRow(names: tables, sums: Array(repeating: TableSum(), count: tables.count))
        return unsafe key.span.withMDBValue { key in
            unsafe row.span.withMDBValue { value in unsafe mdb_put(transaction, firstTable, &key, &value, 0) }
        }
    }

    @unsafe static func sizes(of environment: OpaquePointer?) -> EnvironmentSizes {
        var info = unsafe MDB_envinfo()
        var stat = MDB_stat()
        guard unsafe mdb_env_info(environment, &info) == 0, unsafe mdb_env_stat(environment, &stat) == 0
        else { return EnvironmentSizes() }
        return unsafe EnvironmentSizes(
            usedBytes: (info.me_last_pgno + 1) * Int(stat.ms_psize), mapBytes: info.me_mapsize)
    }

    static func error(
        forResult result: Int32, action: String, path: String, limits: EnvironmentLimits
    ) -> StoreError {
        switch result {
        case MDB_MAP_FULL: .mapFull(path: path, limit: limits.mapBytesMax)
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH, MDB_INCOMPATIBLE:
            .corrupt(path: path, damage: unsafe String(cString: mdb_strerror(result)))
        case ENOSPC, EDQUOT, EFBIG: .diskFull(path: path)
        // LMDB reports a short write as an I/O error. The usual cause of short writes is a full disk.
        case EIO where isDiskFull(at: path): .diskFull(path: path)
        case 1...: .system(action: action, path: path, reason: unsafe String(cString: strerror(result)))
        default: .refused(path: path, reason: unsafe String(cString: mdb_strerror(result)))
        }
    }

    private static func isDiskFull(at path: String) -> Bool {
        var space = statvfs()
        guard unsafe statvfs(path, &space) == 0 else { return false }
        return space.f_bavail * space.f_frsize < freeBytesMin
    }
}
