package import Identifiers
package import JSON
internal import RecordFormat

/// The newest versions of a group and its cancelled sends: a record of `superseded`, from the planner to all
/// senders. With it a sender drops waiting jobs that are out of date, before the jobs of the newer send reach
/// it. Versions only grow: of two records, the higher versions count.
package struct SupersededVersions: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The maximum number of cancelled sends in one record. The planner refuses further cancels of a day.
    package static let cancelledSendsMax = 100

    package var app: String
    package var group: String
    /// The group's owner, if the group is private to one recipient.
    package var owner: Recipient?
    /// The version of the newest update of the whole group, or 0 if there was none.
    package var updateVersion: Int64
    /// The version of the newest END of the whole group, or 0 if there was none.
    package var endVersion: Int64
    /// The ids of cancelled sends.
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
