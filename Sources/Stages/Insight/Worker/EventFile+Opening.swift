internal import Glibc
internal import SQLite
internal import Store
internal import Telemetry

/// An opened file of events, and how it was found.
struct OpenedEventDatabase {
    let database: SQLiteDatabase
    let applied: AppliedProgress
    let beginning: OpeningState

    /// The cache is small, because there is a file for each lane.
    private static let cacheKibibytes = 4096

    private enum InspectionResult {
        case valid(AppliedProgress)
        case empty
        case unusable(DiscardReason)
    }

    /// Opens the file. An unusable file is removed and created again.
    ///
    /// - Parameter origin: The cluster, topic and partition that the file must name.
    init(directory: String, origin: String) throws {
        let path = directory + "/events.sqlite"
        var found = InspectionResult.empty
        do throws(SQLiteError) {
            let database = try SQLiteDatabase(path: path, role: .writer, cacheKibibytes: Self.cacheKibibytes)
            found = try Self.inspect(database, origin: origin)
            if case .valid(let applied) = found {
                (self.database, self.applied, beginning) = (database, applied, .resumed)
                return
            }
        } catch {
            guard error.isCorruption else { throw error }
            found = .unusable(.damaged(error.description))
        }
        if case .unusable(let reason) = found {
            try Self.removeFiles(in: directory)
            beginning = .discarded(reason)
        } else {
            beginning = .empty
        }
        database = try SQLiteDatabase(path: path, role: .writer, cacheKibibytes: Self.cacheKibibytes)
        applied = AppliedProgress(offset: 0, completeUntil: .now())
        try createTables(origin: origin)
    }

    private func createTables(origin: String) throws(SQLiteError) {
        try database.runTransaction { () throws(SQLiteError) in
            try database.execute(EventSchema.tables)
            try database.prepare("INSERT INTO origin VALUES (?)").run(.text(origin))
            try database.prepare("INSERT INTO applied VALUES (0, ?, NULL, NULL)").run(
                .integer(applied.completeUntil.milliseconds))
            try database.setSchemaVersion(EventSchema.version)
        }
    }

    private static func inspect(_ database: SQLiteDatabase, origin: String) throws(SQLiteError)
        -> InspectionResult
    {
        if let damage = try database.firstDamage() { return .unusable(.damaged(damage)) }
        let schema = try database.schemaVersion()
        // The transaction that creates the tables also writes the schema number.
        if schema == 0 { return .empty }
        guard schema == EventSchema.version else {
            return .unusable(.otherSchema(found: schema, wanted: EventSchema.version))
        }
        var named: String?
        try database.prepare("SELECT text FROM origin").forEachRow { named = $0.text(at: 0) }
        guard named == origin else {
            return .unusable(.otherOrigin(found: named ?? "nowhere", wanted: origin))
        }
        var applied: AppliedProgress?
        try database.prepare("SELECT offset, as_of, last_offset, last_sum FROM applied").forEachRow { row in
            let last =
                row.isNull(at: 2)
                ? nil
                : LastRecord(
                    offset: row.integer(at: 2), checksum: UInt32(truncatingIfNeeded: row.integer(at: 3)))
            applied = AppliedProgress(
                offset: row.integer(at: 0), completeUntil: WallTime(milliseconds: row.integer(at: 1)),
                lastRecord: last)
        }
        guard let applied, applied.offset >= 0 else {
            return .unusable(.damaged("the offset that was read is missing"))
        }
        return .valid(applied)
    }

    /// Removes the file, its write-ahead log and the index of the log. No process may have it open.
    static func removeFiles(in directory: String) throws(StoreError) {
        for ending in ["", "-wal", "-shm"] {
            let path = directory + "/events.sqlite" + ending
            guard unsafe unlink(path) != 0, errno != ENOENT else { continue }
            throw .system(action: "remove", path: path, reason: unsafe String(cString: strerror(errno)))
        }
    }
}
