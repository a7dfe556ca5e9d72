package import Identifiers
package import JSON
internal import RecordFormat

/// Facts about a group that senders need at once, before the jobs that still travel to them: a record of
/// `superseded`. Values only grow. Of two notes, the higher versions count.
package struct SupersededVersions: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The maximum number of cancelled sends in one note. The newest are kept.
    package static let cancelledSendsMax = 100

    package var app: String
    package var group: String
    /// The group's owner, if the group is private to one recipient.
    package var owner: Recipient?
    /// The versions of the newest whole-group update and of the newest whole-group END, or 0 if there was
    /// none.
    package var updateVersion: Int64
    package var endVersion: Int64
    /// Cancelled sends.
    package var cancelledSends: [String]

    package init(
        app: String, group: String, owner: Recipient? = nil, updateVersion: Int64, endVersion: Int64,
        cancelledSends: [String] = []
    ) {
        self.app = app
        self.group = group
        self.owner = owner
        self.updateVersion = updateVersion
        self.endVersion = endVersion
        self.cancelledSends = cancelledSends
    }

    package var key: [UInt8] { ScopeKey(app: app, group: group, recipient: owner).bytes }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("group", group)
        writer.field("owner", owner)
        writer.field("update", updateVersion)
        writer.field("end", endVersion)
        writer.field("cancelled", cancelledSends.isEmpty ? nil : cancelledSends)
    }

    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), group: record["group"].name(),
            owner: record["owner"].optional?.recipient(), updateVersion: record["update"].version(),
            endVersion: record["end"].version(),
            cancelledSends: record["cancelled"].optional?.names(
                countMax: SupersededVersions.cancelledSendsMax) ?? [])
    }
}
