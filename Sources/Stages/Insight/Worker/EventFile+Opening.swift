internal import Glibc
internal import SQLite
internal import Store
internal import Telemetry

/// An opened file of events, and the state in which it was found.
struct OpenedEventDatabase {
    let database: SQLiteDatabase
    let applied: AppliedProgress
    let openingState: OpeningState

    private static let fileName = "/events.sqlite"
    /// The cache of SQLite. It is small, because there is a file for each lane.
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
        let path = directory + Self.fileName
        var inspection = InspectionResult.empty
        do throws(SQLiteError) {
            let database = try SQLiteDatabase(path: path, role: .writer, cacheKibibytes: Self.cacheKibibytes)
            inspection = try Self.inspect(database, origin: origin)
            if case .valid(let applied) = inspection {
                (self.database, self.applied, openingState) = (database, applied, .resumed)
                return
            }
        } catch {
            guard error.isCorruption else { throw error }
            inspection = .unusable(.damaged(error.description))
        }
        if case .unusable(let reason) = inspection {
            try Self.removeFiles(in: directory)
            openingState = .discarded(reason)
        } else {
            openingState = .empty
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

    /// Checks whether an existing file can be used: it is not damaged, and has this layout and origin.
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
        var storedOrigin: String?
        try database.prepare("SELECT text FROM origin").forEachRow { storedOrigin = $0.text(at: 0) }
        guard storedOrigin == origin else {
            return .unusable(.otherOrigin(found: storedOrigin ?? "nowhere", wanted: origin))
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
            let path = directory + fileName + ending
            guard unsafe unlink(path) != 0, errno != ENOENT else { continue }
            throw .system(action: "remove", path: path, reason: unsafe String(cString: strerror(errno)))
        }
    }
}
