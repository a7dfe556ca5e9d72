internal import Glibc
internal import SQLite
internal import Store
internal import Telemetry

/// An opened file of events, and how it was found.
struct OpenedEvents {
    let database: Database
    let applied: Applied
    let beginning: Beginning

    /// The cache is small, because there is a file for each lane.
    private static let cacheKibibytes = 4096

    private enum Found {
        case sound(Applied)
        case nothing
        case useless(DiscardReason)
    }

    /// Opens the file. An unusable file is removed and created again.
    ///
    /// - Parameter origin: The cluster, topic and partition that the file must name.
    init(_ directory: String, origin: String) throws {
        let path = directory + "/events.sqlite"
        var found = Found.nothing
        do throws(SQLiteError) {
            let database = try Database(path, as: .writer, cacheKibibytes: Self.cacheKibibytes)
            found = try Self.inspect(database, origin: origin)
            if case .sound(let applied) = found {
                (self.database, self.applied, beginning) = (database, applied, .resumed)
                return
            }
        } catch {
            guard error.isCorruption else { throw error }
            found = .useless(.damaged(error.description))
        }
        if case .useless(let reason) = found {
            try Self.remove(directory)
            beginning = .discarded(reason)
        } else {
            beginning = .empty
        }
        database = try Database(path, as: .writer, cacheKibibytes: Self.cacheKibibytes)
        applied = Applied(offset: 0, asOf: .now())
        try make(origin: origin)
    }

    private func make(origin: String) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute(EventSchema.tables)
            try database.prepare("INSERT INTO origin VALUES (?)").run(.text(origin))
            try database.prepare("INSERT INTO applied VALUES (0, ?, NULL, NULL)").run(
                .integer(applied.asOf.milliseconds))
            try database.setSchema(EventSchema.version)
        }
    }

    private static func inspect(_ database: Database, origin: String) throws(SQLiteError) -> Found {
        if let damage = try database.damage() { return .useless(.damaged(damage)) }
        let schema = try database.schema()
        // The transaction that creates the tables also writes the schema number.
        if schema == 0 { return .nothing }
        guard schema == EventSchema.version else {
            return .useless(.otherSchema(found: schema, wanted: EventSchema.version))
        }
        var named: String?
        try database.prepare("SELECT text FROM origin").eachRow { named = $0.text(0) }
        guard named == origin else {
            return .useless(.otherOrigin(found: named ?? "nowhere", wanted: origin))
        }
        var applied: Applied?
        try database.prepare("SELECT offset, as_of, last_offset, last_sum FROM applied").eachRow { row in
            let last =
                row.isNull(2)
                ? nil
                : LastRecord(offset: row.integer(2), sum: UInt32(truncatingIfNeeded: row.integer(3)))
            applied = Applied(
                offset: row.integer(0), asOf: WallTime(milliseconds: row.integer(1)), last: last)
        }
        guard let applied, applied.offset >= 0 else {
            return .useless(.damaged("the offset that was read is missing"))
        }
        return .sound(applied)
    }

    /// Removes the file, its write-ahead log and the index of the log. No process may have it open.
    static func remove(_ directory: String) throws(StoreError) {
        for ending in ["", "-wal", "-shm"] {
            let path = directory + "/events.sqlite" + ending
            guard unsafe unlink(path) != 0, errno != ENOENT else { continue }
            throw .system(action: "remove", path: path, reason: unsafe String(cString: strerror(errno)))
        }
    }
}
