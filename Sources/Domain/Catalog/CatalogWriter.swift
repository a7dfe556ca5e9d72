package import Kafka
package import LiveActivity
package import Telemetry

/// A writer of catalog changes. Each change has an entry in the audit. Calls block: they come from a command,
/// or from an admin request on its own thread.
package final class CatalogWriter: Sendable {
    private let producer: Producer
    private let catalog: Topic
    private let audit: Topic
    private let author: String

    /// - Parameters:
    ///   - catalog, audit: the topics' names with their prefix.
    ///   - author: the person or the API key that makes the changes.
    package init(
        _ settings: KafkaSettings, catalog: String, audit: String, author: String, metrics: Metrics
    ) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = 0
        options.deliveryMillisecondsMax = 15_000
        producer = try Producer(settings, options, name: "catalog", log: .silent, metrics: metrics)
        self.catalog = try producer.topic(catalog)
        self.audit = try producer.topic(audit)
        self.author = author
    }

    package func put(_ app: App, action: String, now: WallTime) throws {
        try change(app.key, to: app.encoded(), entry: entry(now, action, app: app.id))
    }

    /// Deletes an app. Its keys go first, because they must not give access to a new app with the same id.
    ///
    /// - Parameter parts: the keys of the app's other records, for example types and segments.
    package func delete(_ app: App, withKeys keys: [APIKey], parts: [[UInt8]] = [], now: WallTime) throws {
        for key in keys {
            try change(key.key, to: nil, entry: entry(now, "key.delete", app: app.id, subject: key.id))
        }
        for part in parts {
            _ = try producer.store("write the catalog", in: catalog, key: part, value: nil)
        }
        try change(app.key, to: nil, entry: entry(now, "app.delete", app: app.id))
    }

    /// Makes one change of the catalog.
    package func make(_ change: CatalogChange, now: WallTime) throws {
        try self.change(change.key, to: change.value, entry: change.entry(by: author, at: now.milliseconds))
    }

    package func put(_ key: APIKey, action: String, now: WallTime) throws {
        try change(key.key, to: key.encoded(), entry: entry(now, action, app: key.app, subject: key.id))
    }

    package func put(_ record: SealingRecord, action: String, now: WallTime) throws {
        let entry = entry(now, action, app: AuditEntry.everyApp, subject: "key \(record.sealing)")
        try change(SealingRecord.key, to: record.encoded(), entry: entry)
    }

    /// Writes an audit entry for an action that changes no record. Returns the cluster's timestamp.
    package func note(_ action: String, now: WallTime) throws -> Int64? {
        let entry = entry(now, action, app: AuditEntry.everyApp)
        return try producer.store("write the audit", in: audit, key: entry.key, value: entry.encoded()).stamp
    }

    private func entry(_ now: WallTime, _ action: String, app: String, subject: String? = nil) -> AuditEntry {
        AuditEntry(at: now.milliseconds, by: author, action: action, app: app, subject: subject)
    }

    /// The audit is written first. A crash in between leaves an entry without its change, but never a change
    /// without an entry.
    private func change(_ key: [UInt8], to value: [UInt8]?, entry: AuditEntry) throws(KafkaError) {
        _ = try producer.store("write the audit", in: audit, key: entry.key, value: entry.encoded())
        _ = try producer.store("write the catalog", in: catalog, key: key, value: value)
    }
}
