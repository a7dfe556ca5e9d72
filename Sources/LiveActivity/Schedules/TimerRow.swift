package import JSON

/// A send that waits for its time: a row of `timers`, the scheduler's truth. It goes when the send does.
package struct TimerRow: Record, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var owner: ScheduleOwner
    /// Nil for the end that the planner has asked for: it is one for each group.
    package var id: String?
    package var name: String?
    /// What a cancel names.
    package var activity: String?
    /// Milliseconds since 1970.
    package var dueAt: Int64
    /// Milliseconds; what is later than this expires.
    package var latenessMax: Int64
    /// As it goes.
    package var send: Send
    /// Where its order lies, in the partition of its own number.
    package var offset: Int64

    package init(
        app: String, owner: ScheduleOwner, id: String?, name: String? = nil, activity: String? = nil,
        dueAt: Int64, latenessMax: Int64, send: Send, offset: Int64
    ) {
        self.app = app
        self.owner = owner
        self.id = id
        self.name = name
        self.activity = activity
        self.dueAt = dueAt
        self.latenessMax = latenessMax
        self.send = send
        self.offset = offset
    }

    /// `app/owner/id`, or `app/owner//group` of a group's end: no schedule has an empty id. A whole group is its own
    /// owner, and stands there once where twice would be too long.
    package var key: [UInt8] {
        if let id { return Self.key(app: app, owner: owner, id: id) }
        let key = RecordKey.join(app, owner.text, "", send.group ?? "")
        guard case .group = owner, key.count > GroupKey.bytesMax else { return key }
        return RecordKey.join(app, owner.text, "", "")
    }

    package static func key(app: String, owner: ScheduleOwner, id: String) -> [UInt8] {
        RecordKey.join(app, owner.text, id)
    }

    /// What is above this and below its successor are the owner's rows, and nobody else's.
    package static func prefix(app: String, owner: ScheduleOwner) -> [UInt8] {
        RecordKey.join(app, owner.text, "")
    }

    /// Its first member is its time: `TimerWake` reads it in place.
    package func write(to writer: inout JSONWriter) {
        writer.field("dueAt", dueAt)
        writer.field("app", app)
        writer.field("owner", owner.text)
        writer.field("id", id)
        writer.field("name", name)
        writer.field("activity", activity)
        writer.field("latenessMax", latenessMax)
        writer.nested("send", send)
        writer.field("offset", offset)
    }

    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), owner: record["owner"].scheduleOwner(),
            id: record["id"].optional?.name(), name: record["name"].optional?.name(),
            activity: record["activity"].optional?.name(), dueAt: record["dueAt"].time(),
            latenessMax: record["latenessMax"].time(), send: Send(from: record["send"].object()),
            offset: record["offset"].time())
    }
}
