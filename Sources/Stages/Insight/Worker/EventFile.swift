internal import JSON
internal import Kafka
internal import LiveActivity
internal import SQLite
internal import Store
internal import Telemetry

/// The events of one lane on disk, and their counts. It is a cache like every state file. A damaged file, or
/// a file of another layout or topic, is removed and rebuilt.
final class EventFile: LaneFile {
    let beginning: Beginning
    var mark: ReadMark
    private let lock: DirectoryLock
    private let database: Database
    private let insert: Statement
    private let count: Statement
    private let reach: Statement
    private let forgetEvents: Statement
    private let forgetCounts: Statement
    private var events: [(offset: Int64, stamp: Int64, event: Event)] = []
    private var counts = EventCounts()
    private var forgottenHour: Int64?

    init(_ directory: String, of place: TopicPartition, cluster: String) throws {
        lock = try DirectoryLock(directory)
        let found = try OpenedEvents(directory, origin: "\(cluster) \(place)")
        (database, beginning) = (found.database, found.beginning)
        mark = ReadMark(place, found.beginning == .resumed ? found.applied : nil)
        insert = try database.prepare(EventSchema.insert)
        count = try database.prepare(EventSchema.count)
        reach = try database.prepare(EventSchema.reach)
        forgetEvents = try database.prepare(
            "DELETE FROM events WHERE offset IN (SELECT offset FROM events WHERE stamp < ? LIMIT ?)")
        forgetCounts = try database.prepare("DELETE FROM counts WHERE hour < ?")
    }

    /// The path for threads that read beside the loop.
    var path: String { database.path }

    // MARK: Taking

    func hear(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> String {
        guard let json = record.value else { return "unreadable" }
        do throws(RecordError) {
            let event = try unsafe json.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe Event.decode(bytes, with: reader)
            }
            hear(event, at: record.offset, stamp: record.timestamp ?? event.receivedAt)
            return "entered"
        } catch { return "unreadable" }
    }

    func hear(_ event: Event, at offset: Int64, stamp: Int64) {
        events.append((offset, stamp, event))
        counts.add(event)
    }

    func settle() throws {
        let taken = try mark.confirmed(database.path)
        try database.transaction { () throws(SQLiteError) in
            for one in events { try enter(one.event, at: one.offset, stamp: one.stamp) }
            for (key, times) in counts.counts {
                try count.run(
                    .text(key.app), .integer(key.hour), .text(key.code.rawValue),
                    .text(key.attributesType ?? ""), .text(key.group ?? ""), .integer(Int64(times)))
            }
            try reach.run(
                .integer(taken.offset), .integer(taken.asOf.milliseconds),
                taken.last.map { .integer($0.offset) } ?? .null,
                taken.last.map { .integer(Int64($0.sum)) } ?? .null)
        }
        mark.entered()
        events.removeAll(keepingCapacity: true)
        counts.removeAll()
    }

    private func enter(_ event: Event, at offset: Int64, stamp: Int64) throws(SQLiteError) {
        try insert.run(
            .integer(offset), .integer(stamp), .integer(event.eventTime), .integer(event.receivedAt),
            .text(event.code.rawValue), .text(event.app), .text(event.environment?.rawValue),
            .text(event.installation), .text(event.user), .text(event.attributesType), .text(event.activity),
            .text(event.group), .text(event.tokenHash), .text(event.cause?.rawValue),
            .text(event.scheduleID), .text(event.scheduleName))
    }

    // MARK: Questions

    func rows() throws(SQLiteError) -> Int {
        var count: Int64 = 0
        try database.prepare("SELECT count(*) FROM events").eachRow { count = $0.integer(0) }
        return Int(count)
    }

    /// Calls `body` for every count.
    func forEachCount(_ body: (EventCounts.Key, Int) -> Void) throws(SQLiteError) {
        let question = try database.prepare(
            "SELECT app, hour, code, attributes_type, group_name, count FROM counts")
        try question.eachRow { row in
            guard let code = row.text(2).flatMap(Event.Code.init) else { return }
            let (type, group) = (row.text(3) ?? "", row.text(4) ?? "")
            let key = EventCounts.Key(
                app: row.text(0) ?? "", hour: row.integer(1), code: code,
                attributesType: type.isEmpty ? nil : type, group: group.isEmpty ? nil : group)
            body(key, Int(row.integer(5)))
        }
    }

    // MARK: Forgetting

    /// The limit of events that one transaction removes.
    private static let forgottenMax: Int64 = 2000

    func forget(before time: Int64) throws -> Int {
        let events = try forgetEvents.run(.integer(time), .integer(Self.forgottenMax))
        // This scans all counts, so it runs once an hour.
        let hour = time / EventCounts.hourMilliseconds
        if hour == forgottenHour { return events }
        forgottenHour = hour
        return try events + forgetCounts.run(.integer(hour))
    }

    // MARK: The end

    /// Makes the next opening start from an empty file. If this write fails, the next opening detects the
    /// damage itself.
    func condemn(_ reason: String) throws { try? database.setSchema(EventSchema.condemned) }

    /// Moves the write-ahead log into the file. Without this call the next opening reads the log.
    func close() throws { try database.checkpoint() }
}
