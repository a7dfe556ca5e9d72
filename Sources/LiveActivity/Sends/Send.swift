package import JSON

/// One accepted request to start, update or end, for an audience: a record of `sends`.
package struct Send: Record, Hashable {
    package static let schemaVersion = 1

    /// What happens to a start whose outcome nobody knows.
    package enum UnknownStart: String, Sendable, CaseIterable {
        case skip
        case resend
    }

    package var id: String
    package var app: String
    /// Nil where one activity is named that belongs to no group.
    package var group: String?
    /// Whose the group is, when it is private to one recipient.
    package var owner: Recipient?
    package var audience: Audience
    package var content: PushContent
    /// APNs' 5 or 10.
    package var priority: Int
    package var collapseID: String?
    /// Milliseconds since 1970 by its gateway's clock; from then on the send is answered for.
    package var acceptedAt: Int64
    /// Of a timed send: milliseconds since 1970 by the cluster's clock, of the record that scheduled it. What ended
    /// since then is not meant.
    package var scheduledAt: Int64?
    /// Seconds since 1970 after which nobody wants it any more.
    package var deadline: Int64?
    /// Seconds since 1970 until when APNs keeps it for a phone that is away; nil: as the deadline.
    package var expiration: Int64?
    /// Seconds since 1970 when the activity is to be ended by itself; on a start.
    package var endDate: Int64?
    /// Whether a newer update may take its place while it waits.
    package var conflate = true
    package var onUnknownStart = UnknownStart.skip
    /// Start again where the ledger says that it was started, or dismissed.
    package var restart = false
    package var dryRun = false
    /// Of the request's body, where the request had an idempotency key: the same id with another one of these
    /// is a conflict.
    package var fingerprint: String?
    /// Only this life of the scope is meant: an automatic end must not end the next one.
    package var generation: Int64?

    package init(
        id: String, app: String, group: String?, audience: Audience, content: PushContent, priority: Int,
        acceptedAt: Int64
    ) {
        self.id = id
        self.app = app
        self.group = group
        self.audience = audience
        self.content = content
        self.priority = priority
        self.acceptedAt = acceptedAt
    }

    /// What its version is counted for, unless it is split by recipients. Nil for what no gateway accepts: a
    /// send without a group that does not name exactly one activity.
    package var groupKey: GroupKey? {
        if let group { return GroupKey(app: app, group: group, recipient: owner) }
        guard case .activities(let names) = audience, names.count == 1 else { return nil }
        return GroupKey(app: app, activity: names[0])
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("app", app)
        writer.field("group", group)
        writer.field("owner", owner)
        writer.field("audience", audience)
        writer.content(content)
        writer.field("priority", priority)
        writer.field("collapseId", collapseID)
        writer.field("acceptedAt", acceptedAt)
        writer.field("scheduledAt", scheduledAt)
        writer.field("deadline", deadline)
        writer.field("expiration", expiration)
        writer.field("endDate", endDate)
        writer.field("conflate", conflate ? nil : false)
        writer.field("onUnknownStart", onUnknownStart == .skip ? nil : onUnknownStart.rawValue)
        writer.field("restart", restart ? true : nil)
        writer.field("dryRun", dryRun ? true : nil)
        writer.field("fingerprint", fingerprint)
        writer.field("generation", generation)
    }

    package init(from record: JSONObject) {
        self.init(
            id: record["id"].name(), app: record["app"].appID(), group: record["group"].optional?.name(),
            audience: record["audience"].audience(), content: record.content(),
            priority: record["priority"].int(in: 1...10), acceptedAt: record["acceptedAt"].time())
        owner = record["owner"].optional?.recipient()
        collapseID = record["collapseId"].optional?.name()
        scheduledAt = record["scheduledAt"].optional?.time()
        deadline = record["deadline"].optional?.seconds()
        expiration = record["expiration"].optional?.seconds()
        endDate = record["endDate"].optional?.seconds()
        conflate = record["conflate"].optional?.bool() ?? true
        onUnknownStart = record["onUnknownStart"].optional?.choice(of: UnknownStart.self) ?? .skip
        restart = record["restart"].optional?.bool() ?? false
        dryRun = record["dryRun"].optional?.bool() ?? false
        fingerprint = record["fingerprint"].optional?.name()
        generation = record["generation"].optional?.version()
        if !record["audience"].isMissing, let problem { record["audience"].report(problem) }
    }

    /// Why this is not a send that anybody can carry out, as it goes on after `audience`; nil when it is.
    package var problem: String? {
        if groupKey == nil { return "must name exactly one activity where there is no group" }
        switch (content.event, audience) {
        case (_, .users(let users)) where owner != nil:
            return users.count == 1 && owner == .user(users[0])
                ? nil : "must be the group's owner and nobody else, as the group is private"
        case (_, .group) where owner != nil: return nil
        case (_, _) where owner != nil: return "must be the group's owner, as the group is private"
        case (.start, .group), (.start, .activities):
            return "must be everyone, segments, tags or users: a start chooses who begins"
        case (.update, .everyone), (.update, .segments), (.update, .tags), (.end, .everyone),
            (.end, .segments),
            (.end, .tags):
            return "must be group, users or activities: who takes part was chosen by the start"
        case (_, .users(let names)), (_, .activities(let names)):
            if names.isEmpty { return "must name somebody" }
            return Set(names).count == names.count ? nil : "must name each only once"
        case (_, .segments(let names)), (_, .tags(let names)):
            return names.isEmpty ? "must name at least one" : nil
        case (.start, .everyone), (.update, .group), (.end, .group): return nil
        }
    }
}

extension JSONWriter {
    /// Within another record.
    mutating func nested(_ name: StaticString, _ send: Send) {
        self.name(name)
        beginObject()
        send.write(to: &self)
        endObject()
    }
}
