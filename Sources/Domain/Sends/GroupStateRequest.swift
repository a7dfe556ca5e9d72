internal import Identifiers
package import JSON
internal import RecordFormat

/// A lane's request for the newest state of a group: a record of `sends.timed`, to the planner. A lane without
/// members of a group does not keep the group's updates, so it asks when a member appears.
/// In this topic the request follows the sends that were planned for the group before.
package struct GroupStateRequest: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The number of the lane that asks.
    package var lane: Int
    package var app: String
    package var group: String

    package init(lane: Int, app: String, group: String) {
        self.lane = lane
        self.app = app
        self.group = group
    }

    package var scopeKey: ScopeKey { ScopeKey(app: app, group: group) }

    package func write(to writer: inout JSONWriter) {
        writer.field("enquiry", lane)
        writer.field("app", app)
        writer.field("group", group)
    }

    package init(from record: JSONObject) {
        lane = record["enquiry"].int(in: 0...Int(Int32.max))
        app = record["app"].appID()
        group = record["group"].name()
    }
}
