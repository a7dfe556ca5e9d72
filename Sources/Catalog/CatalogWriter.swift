package import Kafka
package import LiveActivity
package import Telemetry

/// Changes the catalogue, each time with a line in the audit. It waits: a command's, or an admin's
/// request on a thread of its own.
package final class CatalogWriter: Sendable {
    private let producer: Producer
    private let catalog: Topic
    private let audit: Topic
    private let author: String

    /// - Parameters:
    ///   - catalog, audit: the topics' names with their prefix.
    ///   - author: who it is that changes things.
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

    /// Its keys go first: an app that is made anew under this id must not be open to them.
    ///
    /// - Parameter parts: the keys of the records that stand behind the app's.
    package func delete(_ app: App, withKeys keys: [APIKey], parts: [[UInt8]] = [], now: WallTime) throws {
        for key in keys {
            try change(key.key, to: nil, entry: entry(now, "key.delete", app: app.id, subject: key.id))
        }
        for part in parts {
            _ = try producer.store("write the catalogue", in: catalog, key: part, value: nil)
        }
        try change(app.key, to: nil, entry: entry(now, "app.delete", app: app.id))
    }

    /// Makes one change of the catalogue.
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

    /// A line in the audit about what changes nothing. Returns the cluster's stamp.
    package func note(_ action: String, now: WallTime) throws -> Int64? {
        let entry = entry(now, action, app: AuditEntry.everyApp)
        return try producer.store("write the audit", in: audit, key: entry.key, value: entry.encoded()).stamp
    }

    private func entry(_ now: WallTime, _ action: String, app: String, subject: String? = nil) -> AuditEntry {
        AuditEntry(at: now.milliseconds, by: author, action: action, app: app, subject: subject)
    }

    /// The audit first: killed in between, there is a line about what did not happen, and not a change
    /// that nobody can account for.
    private func change(_ key: [UInt8], to value: [UInt8]?, entry: AuditEntry) throws(KafkaError) {
        _ = try producer.store("write the audit", in: audit, key: entry.key, value: entry.encoded())
        _ = try producer.store("write the catalogue", in: catalog, key: key, value: value)
    }
}
