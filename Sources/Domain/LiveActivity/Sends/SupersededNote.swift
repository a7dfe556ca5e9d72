package import JSON

/// Facts about a group that senders need at once, before the jobs that still travel to them: a record of
/// `superseded`. Values only grow. Of two notes, the higher versions count.
package struct SupersededNote: Record, Hashable {
    package static let schemaVersion = 1
    /// The maximum number of cancelled sends in one note. The newest are kept.
    package static let cancelledMax = 100

    package var app: String
    package var group: String
    /// The group's owner, if the group is private to one recipient.
    package var owner: Recipient?
    /// The versions of the newest whole-group update and of the newest whole-group END, or 0 if there was
    /// none.
    package var update: Int64
    package var end: Int64
    /// Cancelled sends.
    package var cancelled: [String]

    package init(
        app: String, group: String, owner: Recipient? = nil, update: Int64, end: Int64,
        cancelled: [String] = []
    ) {
        self.app = app
        self.group = group
        self.owner = owner
        self.update = update
        self.end = end
        self.cancelled = cancelled
    }

    package var key: [UInt8] { GroupKey(app: app, group: group, recipient: owner).bytes }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("group", group)
        writer.field("owner", owner)
        writer.field("update", update)
        writer.field("end", end)
        writer.field("cancelled", cancelled.isEmpty ? nil : cancelled)
    }

    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), group: record["group"].name(),
            owner: record["owner"].optional?.recipient(), update: record["update"].version(),
            end: record["end"].version(),
            cancelled: record["cancelled"].optional?.names(countMax: SupersededNote.cancelledMax) ?? [])
    }
}
