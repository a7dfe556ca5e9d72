package import JSON

/// A record of `audit`: who changed what, for whoever must answer for it later.
package struct AuditEntry: Record, Hashable {
    package static let schemaVersion = 1
    /// Stands for the app in what is no single app's.
    package static let everyApp = "flotilla"

    /// Milliseconds since 1970.
    package var at: Int64
    /// A person at a machine, or the id of an API key.
    package var by: String
    /// `app.create`, `key.revoke`.
    package var action: String
    package var app: String
    /// What it was done to, where that is not the app itself.
    package var subject: String?
    /// Where a request came from.
    package var address: String?

    package init(at: Int64, by: String, action: String, app: String, subject: String? = nil) {
        self.at = at
        self.by = by
        self.action = action
        self.app = app
        self.subject = subject
    }

    package var key: [UInt8] { RecordKey.join(app) }

    package func write(to writer: inout JSONWriter) {
        writer.field("at", at)
        writer.field("by", by)
        writer.field("action", action)
        writer.field("app", app)
        writer.field("subject", subject)
        writer.field("address", address)
    }

    package init(from record: JSONObject) {
        self.init(
            at: record["at"].time(), by: record["by"].name(), action: record["action"].name(),
            app: record["app"].appID(), subject: record["subject"].optional?.name())
        address = record["address"].optional?.name()
    }
}
