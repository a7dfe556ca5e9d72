package import JSON

/// One accepted request to start, update or end, for an audience: a record of `sends`.
package struct Send: Record, Hashable {
    package static let schemaVersion = 1

    /// What happens to a start whose outcome nobody knows.
    package enum UnknownStart: String, Sendable, CaseIterable {
        case skip
        case resend
    }

    /// When it is to be sent.
    package enum When: Sendable, Hashable {
        case now
        /// Milliseconds since 1970.
        case at(Int64)
    }

    package var id: String
    package var app: String
    package var group: String
    package var audience: Audience
    package var content: PushContent
    /// APNs' 5 or 10.
    package var priority: Int
    package var when = When.now
    /// Milliseconds since 1970; from then on the send is answered for.
    package var acceptedAt: Int64
    /// Seconds since 1970 after which nobody wants it any more.
    package var deadline: Int64?
    /// Seconds since 1970 when the activity is to be ended by itself; on a start.
    package var endDate: Int64?
    /// Whether a newer update may take its place while it waits.
    package var conflate = true
    package var onUnknownStart = UnknownStart.skip
    /// Start again where the ledger says that it was started, or dismissed.
    package var restart = false
    package var dryRun = false

    package init(
        id: String, app: String, group: String, audience: Audience, content: PushContent, priority: Int,
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

    /// Everything about one group is in one partition, in order.
    package var key: [UInt8] { RecordKey.join(app, group) }

    package func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("app", app)
        writer.field("group", group)
        writer.field("audience", audience)
        writer.content(content)
        writer.field("priority", priority)
        if case .at(let time) = when { writer.field("when", time) }
        writer.field("acceptedAt", acceptedAt)
        writer.field("deadline", deadline)
        writer.field("endDate", endDate)
        writer.field("conflate", conflate ? nil : false)
        writer.field("onUnknownStart", onUnknownStart == .skip ? nil : onUnknownStart.rawValue)
        writer.field("restart", restart ? true : nil)
        writer.field("dryRun", dryRun ? true : nil)
    }

    package init(from record: JSONObject) {
        self.init(
            id: record["id"].name(), app: record["app"].appID(), group: record["group"].name(),
            audience: record["audience"].audience(), content: record.content(),
            priority: record["priority"].int(in: 1...10), acceptedAt: record["acceptedAt"].time())
        if let time = record["when"].optional?.time() { when = .at(time) }
        deadline = record["deadline"].optional?.seconds()
        endDate = record["endDate"].optional?.seconds()
        conflate = record["conflate"].optional?.bool() ?? true
        onUnknownStart = record["onUnknownStart"].optional?.choice(of: UnknownStart.self) ?? .skip
        restart = record["restart"].optional?.bool() ?? false
        dryRun = record["dryRun"].optional?.bool() ?? false
    }
}
