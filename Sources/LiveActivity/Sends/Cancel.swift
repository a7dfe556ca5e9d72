package import JSON

/// A request to take a send back: a record of `sends` too, so that it comes behind the send in the same
/// partition.
package struct Cancel: Record, Hashable {
    package static let schemaVersion = 1

    /// The send that is taken back.
    package var send: String
    package var app: String
    package var group: String?
    package var owner: Recipient?
    /// The activity, where it belongs to no group.
    package var activity: String?
    /// Whom the send was for, where that was one recipient of a group that is others', too: its `Progress` says so.
    package var recipient: Recipient?
    /// Milliseconds since 1970.
    package var acceptedAt: Int64

    package init(
        send: String, app: String, key: GroupKey, recipient: Recipient? = nil, acceptedAt: Int64
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

    package var groupKey: GroupKey? {
        if let group { return GroupKey(app: app, group: group, recipient: owner) }
        return activity.map { GroupKey(app: app, activity: $0) }
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
        acceptedAt = record["acceptedAt"].time()
        if groupKey == nil { record["group"].report("must be given, unless an activity is named") }
    }
}
