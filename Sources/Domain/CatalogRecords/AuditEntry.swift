internal import Identifiers
package import JSON
internal import RecordFormat

/// An entry of the audit, a record of `audit`: the author, the kind and the object of one change, for later review.
package struct AuditEntry: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The value of `app` in entries that concern no single app.
    package static let everyApp = AppIDRules.installation

    /// Milliseconds since 1970.
    package var at: Int64
    /// The author of the change: a person at a machine, or the id of an API key.
    package var author: String
    /// The kind of the change, for example `app.create` or `key.revoke`.
    package var action: String
    /// The changed app, or `everyApp`.
    package var app: String
    /// The changed object, if it is not the app itself.
    package var subject: String?
    /// The network address of the request.
    package var address: String?
    /// The id of the HTTP request.
    package var requestID: String?

    package init(at: Int64, author: String, action: String, app: String, subject: String? = nil) {
        self.at = at
        self.author = author
        self.action = action
        self.app = app
        self.subject = subject
    }

    /// The entries of an app share one key, so they are in one partition and in order.
    package var key: [UInt8] { RecordKey.join(app) }

    package func write(to writer: inout JSONWriter) {
        writer.field("at", at)
        writer.field("by", author)
        writer.field("action", action)
        writer.field("app", app)
        writer.field("subject", subject)
        writer.field("address", address)
        writer.field("requestId", requestID)
    }

    package init(from record: JSONObject) {
        self.init(
            at: record["at"].timeMilliseconds(), author: record["by"].name(), action: record["action"].name(),
            app: record["app"].appID(), subject: record["subject"].optional?.name())
        address = record["address"].optional?.name()
        requestID = record["requestId"].optional?.name()
    }
}
