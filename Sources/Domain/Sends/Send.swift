package import Identifiers
package import JSON
package import Payloads
internal import RecordFormat

/// One accepted request to start, update or end activities of an audience: a record of `sends`.
package struct Send: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The treatment of a start whose outcome is unknown, for example after the connection to APNs broke.
    package enum UnknownStartPolicy: String, Sendable, CaseIterable {
        /// Do not send it again. Some phones may miss the start.
        case skip
        /// Send it again. Some phones may start the activity twice.
        case resend
    }

    package var id: String
    package var app: String
    /// Nil if the send names one activity that belongs to no group.
    package var group: String?
    /// The group's owner, if the group is private to one recipient.
    package var owner: Recipient?
    package var audience: Audience
    package var content: PushContent
    package var priority: PushPriority
    package var collapseID: String?
    /// The time at which the gateway accepted the send, in milliseconds since 1970 by its clock.
    package var acceptedAt: Int64
    /// For a timed send: the time of the record that scheduled it, in milliseconds since 1970 by the
    /// cluster's clock. The send does not apply to scopes that ended after this time.
    package var scheduledAt: Int64?
    /// Seconds since 1970 after which the send is no longer useful.
    package var deadline: Int64?
    /// Seconds since 1970 until which APNs keeps the push for an unreachable phone. Nil means the deadline.
    package var expiration: Int64?
    /// For a start: the time at which the activity ends automatically, in seconds since 1970.
    package var endDate: Int64?
    /// Whether a newer update may replace this send while it waits.
    package var isConflatable = true
    package var unknownStartPolicy = UnknownStartPolicy.skip
    /// Whether to start again although the ledger records a start or a dismissal.
    package var forcesRestart = false
    package var isDryRun = false
    /// The fingerprint of the request's body, if the request had an idempotency key. The same id with another
    /// fingerprint is a conflict.
    package var fingerprint: String?
    /// The only generation of the scope that the send applies to. So an automatic END cannot end the next
    /// generation.
    package var generation: Int64?
    /// The version of the scope that the caller has seen. The planner refuses the send if the scope has a newer state.
    package var ifVersion: Int64?
    /// The id of the HTTP request that made the send, for people who compare logs.
    package var requestID: String?
    /// The id of the API key that made the send, or the name of the operator.
    package var author: String?
    /// Nil if no request waits for the planner's reply.
    package var replyTo: ReplyAddress?

    package init(
        id: String, app: String, group: String?, audience: Audience, content: PushContent,
        priority: PushPriority, acceptedAt: Int64
    ) {
        self.id = id
        self.app = app
        self.group = group
        self.audience = audience
        self.content = content
        self.priority = priority
        self.acceptedAt = acceptedAt
    }

    /// The scope in which the send is planned. The planner may split the send by recipient into narrower scopes.
    /// Nil for an invalid send: without a group it must name exactly one activity.
    package var scopeKey: ScopeKey? {
        if let group { return ScopeKey(app: app, group: group, recipient: owner) }
        guard case .activities(let names) = audience, names.count == 1 else { return nil }
        return ScopeKey(app: app, activity: names[0])
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("app", app)
        writer.field("group", group)
        writer.field("owner", owner)
        writer.field("audience", audience)
        writer.content(content)
        writer.field("priority", priority.rawValue)
        writer.field("collapseId", collapseID)
        writer.field("acceptedAt", acceptedAt)
        writer.field("scheduledAt", scheduledAt)
        writer.field("deadline", deadline)
        writer.field("expiration", expiration)
        writer.field("endDate", endDate)
        writer.field("conflate", isConflatable ? nil : false)
        writer.field("onUnknownStart", unknownStartPolicy == .skip ? nil : unknownStartPolicy.rawValue)
        writer.field("restart", forcesRestart ? true : nil)
        writer.field("dryRun", isDryRun ? true : nil)
        writer.field("fingerprint", fingerprint)
        writer.field("generation", generation)
        writer.field("ifVersion", ifVersion)
        writer.field("requestId", requestID)
        writer.field("author", author)
        writer.field("replyTo", replyTo)
    }

    package init(from record: JSONObject) {
        self.init(
            id: record["id"].name(), app: record["app"].appID(), group: record["group"].optional?.name(),
            audience: record["audience"].audience(), content: record.content(),
            priority: record["priority"].pushPriority(), acceptedAt: record["acceptedAt"].timeMilliseconds())
        owner = record["owner"].optional?.recipient()
        collapseID = record["collapseId"].optional?.name()
        scheduledAt = record["scheduledAt"].optional?.timeMilliseconds()
        deadline = record["deadline"].optional?.seconds()
        expiration = record["expiration"].optional?.seconds()
        endDate = record["endDate"].optional?.seconds()
        isConflatable = record["conflate"].optional?.bool() ?? true
        unknownStartPolicy = record["onUnknownStart"].optional?.choice(of: UnknownStartPolicy.self) ?? .skip
        forcesRestart = record["restart"].optional?.bool() ?? false
        isDryRun = record["dryRun"].optional?.bool() ?? false
        fingerprint = record["fingerprint"].optional?.name()
        generation = record["generation"].optional?.version()
        ifVersion = record["ifVersion"].optional?.version()
        requestID = record["requestId"].optional?.name()
        author = record["author"].optional?.name()
        replyTo = record["replyTo"].optional?.replyAddress()
        if !record["audience"].isMissing, let problem { record["audience"].report(problem) }
    }

    /// The problem that makes the audience invalid, worded to follow `audience`. Nil for a valid send. A private
    /// group can only be sent to its owner, a start chooses recipients, and later sends reach those.
    package var problem: String? {
        if scopeKey == nil { return "must name exactly one activity if there is no group" }
        switch (content.event, audience) {
        case (_, .users(let users)) where owner != nil:
            return users.count == 1 && owner == .user(users[0])
                ? nil : "must be only the group's owner, because the group is private"
        case (_, .group) where owner != nil: return nil
        case (_, _) where owner != nil: return "must be the group's owner, because the group is private"
        case (.start, .group), (.start, .activities):
            return "must be everyone, segments, tags or users: a start chooses its recipients"
        case (.update, .everyone), (.update, .segments), (.update, .tags), (.update, .combination),
            (.end, .everyone), (.end, .segments), (.end, .tags), (.end, .combination):
            return "must be group, users or activities: the start has chosen the recipients"
        case (_, .users(let names)), (_, .activities(let names)):
            if names.isEmpty { return "must name at least one" }
            return Set(names).count == names.count ? nil : "must name each one only once"
        case (_, .segments(let names)), (_, .tags(let names)):
            return names.isEmpty ? "must name at least one" : nil
        case (.start, .everyone), (.start, .combination), (.update, .group), (.end, .group): return nil
        }
    }
}

extension JSONWriter {
    /// Writes a send as a member of another record.
    package mutating func field(_ name: StaticString, send: Send) {
        self.name(name)
        beginObject()
        send.write(to: &self)
        endObject()
    }
}
