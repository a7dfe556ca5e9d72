internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import SQLite
internal import Store
internal import Telemetry

/// The events of one lane and their counts by hour, in a SQLite file. It is a cache like every lane file: a
/// damaged file, or a file of another layout or topic, is removed and rebuilt.
final class EventFile: LaneFile {
    let openingState: OpeningState
    var position: AppliedPosition
    private let lock: DirectoryLock
    private let database: SQLiteDatabase
    private let insertStatement: SQLiteStatement
    private let countStatement: SQLiteStatement
    private let totalStatement: SQLiteStatement
    private let appliedStatement: SQLiteStatement
    private let deleteEventsStatement: SQLiteStatement
    // The events since the last commit, and their counts. `stamp` is the time of the record.
    private var events: [(offset: Int64, stamp: Int64, event: Event)] = []
    private var counts = EventCounts()
    /// The hour up to which the counts were last deleted.
    private var sweptHour: Int64?

    init(directory: String, of partition: TopicPartition, cluster: String) throws {
        lock = try DirectoryLock(directory: directory)
        let opened = try OpenedEventDatabase(directory: directory, origin: "\(cluster) \(partition)")
        (database, openingState) = (opened.database, opened.openingState)
        position = AppliedPosition(
            of: partition, stored: opened.openingState == .resumed ? opened.applied : nil)
        insertStatement = try database.prepare(EventSchema.insertStatement)
        countStatement = try database.prepare(EventSchema.countStatement)
        totalStatement = try database.prepare(EventSchema.totalStatement)
        appliedStatement = try database.prepare(EventSchema.appliedStatement)
        deleteEventsStatement = try database.prepare(
            "DELETE FROM events WHERE offset IN (SELECT offset FROM events WHERE stamp < ? LIMIT ?)")
    }

    /// The path for threads that read beside the loop.
    var path: String { database.path }

    // MARK: Records

    func apply(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> RecordOutcome {
        guard let json = record.value else { return .unreadable }
        do throws(RecordDecodingError) {
            let event = try unsafe json.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe Event.decode(bytes, with: reader)
            }
            add(event, at: record.offset, stamp: record.timestamp ?? event.receivedAt)
            return .entered
        } catch { return .unreadable }
    }

    func add(_ event: Event, at offset: Int64, stamp: Int64) {
        events.append((offset, stamp, event))
        counts.add(event)
    }

    func commit() throws {
        let applied = try position.confirmed(path: database.path)
        try database.runTransaction { () throws(SQLiteError) in
            for (offset, stamp, event) in events { try write(event, at: offset, stamp: stamp) }
            for (key, count) in counts.counts {
                try countStatement.run(
                    .text(key.app), .integer(key.hour), .text(key.code.rawValue),
                    .text(key.attributesType ?? ""), .text(key.group ?? ""), .integer(Int64(count)))
            }
            for (key, count) in counts.totals {
                try totalStatement.run(
                    .text(key.app), .integer(key.hour), .text(key.code.rawValue),
                    .text(key.attributesType ?? ""), .integer(Int64(count)))
            }
            try appliedStatement.run(
                .integer(applied.offset), .integer(applied.completeUntil.milliseconds),
                applied.lastRecord.map { .integer($0.offset) } ?? .null,
                applied.lastRecord.map { .integer(Int64($0.checksum)) } ?? .null)
        }
        position.markCommitted()
        events.removeAll(keepingCapacity: true)
        counts.removeAll()
    }

    private func write(_ event: Event, at offset: Int64, stamp: Int64) throws(SQLiteError) {
        try insertStatement.run(
            .integer(offset), .integer(stamp), .integer(event.eventTime), .integer(event.receivedAt),
            .text(event.code.rawValue), .text(event.app), .text(event.environment?.rawValue),
            .text(event.installation), .text(event.user), .text(event.attributesType), .text(event.activity),
            .text(event.group), .text(event.tokenHash), .text(event.cause?.rawValue),
            .text(event.scheduleID), .text(event.scheduleName), .text(event.sendID))
    }

    // MARK: Counts

    func eventCount() throws(SQLiteError) -> Int {
        var count: Int64 = 0
        try database.prepare("SELECT count(*) FROM events").forEachRow { count = $0.integer(at: 0) }
        return Int(count)
    }

    /// Calls `body` for every count.
    func forEachCount(_ body: (EventCounts.Key, Int) -> Void) throws(SQLiteError) {
        let query = try database.prepare(
            "SELECT app, hour, code, attributes_type, group_name, count FROM counts")
        try query.forEachRow { row in
            guard let code = row.text(at: 2).flatMap(Event.Code.init) else { return }
            let (type, group) = (row.text(at: 3) ?? "", row.text(at: 4) ?? "")
            let key = EventCounts.Key(
                app: row.text(at: 0) ?? "", hour: row.integer(at: 1), code: code,
                attributesType: type.isEmpty ? nil : type, group: group.isEmpty ? nil : group)
            body(key, Int(row.integer(at: 5)))
        }
    }

    // MARK: Retention

    /// The limit of events that one call deletes.
    private static let deletedMax: Int64 = 2000

    func deleteRows(before time: Int64) throws -> DeletedRows {
        let eventCount = try deleteEventsStatement.run(.integer(time), .integer(Self.deletedMax))
        var deleted = DeletedRows(count: eventCount, mayHaveMore: eventCount == Int(Self.deletedMax))
        // Counts get old once an hour.
        let hour = time / EventCounts.hourMilliseconds
        if hour == sweptHour { return deleted }
        for table in EventSchema.CountTable.allCases {
            let count = try deleteCounts(of: table, before: hour)
            deleted = deleted + DeletedRows(count: count, mayHaveMore: count > 0)
        }
        if !deleted.mayHaveMore { sweptHour = hour }
        return deleted
    }

    /// Removes some of the counts before an hour, of one app. The key of a table begins with the app and the hour, so
    /// only old rows are read.
    private func deleteCounts(of table: EventSchema.CountTable, before hour: Int64) throws -> Int {
        var app = ""
        while let next = try firstApp(of: table, after: app) {
            app = next
            let count = try database.prepare(table.deleteStatement).run(
                .text(app), .integer(hour), .integer(Self.deletedMax))
            if count > 0 { return count }
        }
        return 0
    }

    private func firstApp(of table: EventSchema.CountTable, after app: String) throws -> String? {
        var next: String?
        try database.prepare("SELECT app FROM \(table.rawValue) WHERE app > ? ORDER BY app LIMIT 1")
            .forEachRow(values: [.text(app)]) { next = $0.text(at: 0) }
        return next
    }

    // MARK: The end

    /// Makes the next opening start from an empty file. If this write fails, the next opening detects the
    /// damage itself.
    func markUnusable(because reason: String) throws {
        try? database.setSchemaVersion(EventSchema.unusableVersion)
    }

    /// Moves the write-ahead log into the file. Without this call the next opening would have to read the log.
    func close() throws { try database.checkpoint() }
}
