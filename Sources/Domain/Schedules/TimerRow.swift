internal import Identifiers
package import JSON
internal import RecordFormat
package import Sends

/// A timer: a send that waits for its time. It is a row of `timers`, which is the scheduler's source of truth. The
/// scheduler deletes the row when it has passed on the send.
package struct TimerRow: JSONRecord, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var owner: ScheduleOwner
    /// Nil for an automatic END from the planner. Each group has at most one.
    package var id: String?
    package var name: String?
    /// The name by which a cancel selects the timer.
    package var activity: String?
    /// The time at which the send is due, in milliseconds since 1970.
    package var dueAt: Int64
    /// The maximum lateness in milliseconds. If the send is later, for example after an outage, it expires.
    package var latenessMillisecondsMax: Int64
    /// The send in its final form.
    package var send: Send
    /// The offset of the `ScheduleCommand`, in the partition of `schedules` with the same number as the row's.
    package var commandOffset: Int64

    package init(
        app: String, owner: ScheduleOwner, id: String?, name: String? = nil, activity: String? = nil,
        dueAt: Int64, latenessMillisecondsMax: Int64, send: Send, commandOffset: Int64
    ) {
        self.app = app
        self.owner = owner
        self.id = id
        self.name = name
        self.activity = activity
        self.dueAt = dueAt
        self.latenessMillisecondsMax = latenessMillisecondsMax
        self.send = send
        self.commandOffset = commandOffset
    }

    /// `app/owner/id`, or `app/owner//group` for a group's automatic END, for example `shop/u:ann/reminder` or
    /// `shop/g:match-42//match-42`. The forms are distinct, because no schedule has an empty id. If the group
    /// itself is the owner, a key that would be too long leaves the second name out.
    package var key: [UInt8] {
        if let id { return Self.key(app: app, owner: owner, id: id) }
        let key = RecordKey.join(app, owner.text, "", send.group ?? "")
        guard case .group = owner, key.count > ScopeKey.bytesMax else { return key }
        return RecordKey.join(app, owner.text, "", "")
    }

    package static func key(app: String, owner: ScheduleOwner, id: String) -> [UInt8] {
        RecordKey.join(app, owner.text, id)
    }

    /// Returns `app/owner/`, with which the keys of the owner's rows begin, and no other keys.
    package static func keyPrefix(app: String, owner: ScheduleOwner) -> [UInt8] {
        RecordKey.join(app, owner.text, "")
    }

    /// Writes the time as the first member, because `TimerWakeTime` reads it in place.
    package func write(to writer: inout JSONWriter) {
        writer.field("dueAt", dueAt)
        writer.field("app", app)
        writer.field("owner", owner.text)
        writer.field("id", id)
        writer.field("name", name)
        writer.field("activity", activity)
        writer.field("latenessMax", latenessMillisecondsMax)
        writer.field("send", send: send)
        writer.field("offset", commandOffset)
    }

    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), owner: record["owner"].scheduleOwner(),
            id: record["id"].optional?.name(), name: record["name"].optional?.name(),
            activity: record["activity"].optional?.name(), dueAt: record["dueAt"].timeMilliseconds(),
            latenessMillisecondsMax: record["latenessMax"].timeMilliseconds(),
            send: Send(from: record["send"].object()),
            // An offset has the same valid range as a time.
            commandOffset: record["offset"].timeMilliseconds())
    }
}
