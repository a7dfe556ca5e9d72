internal import Identifiers
package import JSON
internal import RecordFormat

/// A lane's subscription to a group: a record of `subscriptions`, to the planner. A lane writes it when the first
/// member of the group appears in it. The planner then sends the group's later sends to this lane, too, and answers
/// with the group's state.
package struct Subscription: JSONRecord, Hashable {
    /// All requests to the planner have one version.
    package static let schemaVersion = Send.schemaVersion

    /// The number of the lane that subscribes.
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
        writer.field("subscribes", lane)
        writer.field("app", app)
        writer.field("group", group)
    }

    static func isSubscription(_ record: JSONObject) -> Bool {
        !record["subscribes"].isMissing
    }

    package init(from record: JSONObject) {
        lane = record["subscribes"].int(in: 0...Int(Int32.max))
        app = record["app"].appID()
        group = record["group"].name()
    }
}
