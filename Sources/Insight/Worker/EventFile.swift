internal import Kafka
internal import LiveActivity
internal import SQLite
internal import Store
internal import Telemetry

/// The events of one lane on disk: rows, their counts, and how far the topic was read, changed in one
/// transaction. A cache like every state file: of another layout or another topic, or damaged, it is removed and
/// built anew. Pinned to its loop's thread.
final class EventFile {
    let place: Kafka.TopicPartition
    let beginning: Beginning
    private let lock: DirectoryLock
    private let database: Database
    private let insert: Statement
    private let count: Statement
    private let reach: Statement
    private let forgetEvents: Statement
    private let forgetCounts: Statement
    /// The next offset of the topic that the file wants.
    private(set) var applied: Int64
    private var events: [(offset: Int64, stamp: Int64, event: Event)] = []
    private var counts = EventCounts()
    private var taken: Applied
    private var identity: TopicIdentity
    private var forgottenHour: Int64?

    init(_ directory: String, of place: Kafka.TopicPartition, cluster: String) throws {
        lock = try DirectoryLock(directory)
        let found = try OpenedEvents(directory, origin: "\(cluster) \(place)")
        self.place = place
        (database, beginning, taken) = (found.database, found.beginning, found.applied)
        identity = TopicIdentity(found.beginning == .resumed ? found.applied : nil)
        applied = taken.offset
        insert = try database.prepare(EventSchema.insert)
        count = try database.prepare(EventSchema.count)
        reach = try database.prepare(EventSchema.reach)
        forgetEvents = try database.prepare(
            "DELETE FROM events WHERE offset IN (SELECT offset FROM events WHERE stamp < ? LIMIT ?)")
        forgetCounts = try database.prepare("DELETE FROM counts WHERE hour < ?")
    }

    var start: PartitionStart {
        PartitionStart(place, applied > 0 ? .offset(identity.start ?? applied) : .beginning)
    }

    // MARK: Taking

    /// Every record of the topic, in its order.
    ///
    /// - Returns: false for one that is known already: it came to show that the topic is the same.
    func meet(_ record: borrowing Kafka.Record) -> Bool {
        identity.take(record.key, record.value, offset: record.offset)
        guard record.offset >= taken.offset else { return false }
        taken.offset = record.offset + 1
        if let time = record.timestamp { taken.asOf = WallTime(milliseconds: time) }
        return true
    }

    /// Everything below the offset has been met.
    func reached(_ end: Int64) {
        identity.reached(end)
        taken.offset = max(taken.offset, end)
        taken.asOf = .now()
    }

    func take(_ event: Event, at offset: Int64, stamp: Int64) {
        events.append((offset, stamp, event))
        counts.add(event)
    }

    /// Enters what was taken, with the offset it stands for, in one step.
    func settle() throws {
        taken.last = try identity.confirmed(database.path)
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
        applied = taken.offset
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

    /// Every count there is.
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

    /// Events of one transaction that forgets.
    private static let forgottenMax: Int64 = 2000

    /// Removes some that are older.
    ///
    /// - Returns: how many.
    func forget(before time: Int64) throws(SQLiteError) -> Int {
        let events = try forgetEvents.run(.integer(time), .integer(Self.forgottenMax))
        // All counts are looked at for it: once an hour.
        let hour = time / EventCounts.hourMilliseconds
        if hour == forgottenHour { return events }
        forgottenHour = hour
        return try events + forgetCounts.run(.integer(hour))
    }

    // MARK: The end

    /// The next opening begins from nothing. Where this cannot be written, the damage is found there again.
    func condemn() { try? database.setSchema(EventSchema.condemned) }

    /// The log beside the file goes into it; without this the next opening reads it.
    func close() throws(SQLiteError) { try database.checkpoint() }
}
