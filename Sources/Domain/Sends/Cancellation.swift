package import Identifiers
package import JSON
internal import RecordFormat

/// A request to cancel a send: a record of `sends`. It lies in the same partition as the send, so that the
/// planner reads it after the send.
package struct Cancellation: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The send to cancel.
    package var send: String
    package var app: String
    package var group: String?
    /// The group's owner, if the group is private to one recipient.
    package var owner: Recipient?
    /// The activity of the send, if the activity belongs to no group.
    package var activity: String?
    /// The recipient, if the send was for one recipient of a shared group. The send's `SendProgress` names it.
    package var recipient: Recipient?
    /// Milliseconds since 1970.
    package var acceptedAt: Int64

    package init(
        send: String, app: String, key: ScopeKey, recipient: Recipient? = nil, acceptedAt: Int64
    ) {
        self.send = send
        self.app = app
        self.recipient = recipient
        self.acceptedAt = acceptedAt
        owner = key.recipient
        switch key.subject {
        case .group(let name): group = name
        case .activity(let name): activity = name
        }
    }

    package var scopeKey: ScopeKey? {
        if let group { return ScopeKey(app: app, group: group, recipient: owner) }
        return activity.map { ScopeKey(app: app, activity: $0) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("cancels", send)
        writer.field("app", app)
        writer.field("group", group)
        writer.field("owner", owner)
        writer.field("activity", activity)
        writer.field("recipient", recipient)
        writer.field("acceptedAt", acceptedAt)
    }

    package init(from record: JSONObject) {
        send = record["cancels"].name()
        app = record["app"].appID()
        group = record["group"].optional?.name()
        owner = record["owner"].optional?.recipient()
        activity = record["activity"].optional?.name()
        recipient = record["recipient"].optional?.recipient()
        acceptedAt = record["acceptedAt"].timeMilliseconds()
        if scopeKey == nil { record["group"].report("must be given, unless an activity is named") }
    }
}
