package import CatalogRecords
package import Kafka
internal import RecordFormat
package import Telemetry
package import TokenSealing

/// The writer of catalog changes for commands and for the start of a process. Each change has an entry in the
/// audit. The calls block. A gateway must not block, so it stores a `CatalogChange` itself.
package final class CatalogWriter: Sendable {
    /// The longest time in which a record must be stored.
    private static let deliveryMillisecondsMax = 15_000

    private let producer: Producer
    private let catalog: Topic
    private let audit: Topic
    private let author: String

    /// - Parameters:
    ///   - catalog, audit: The topics' names with their prefix.
    ///   - author: The person who makes the changes, for the audit.
    package init(
        _ settings: KafkaSettings, catalog: String, audit: String, author: String, metrics: Metrics
    ) throws {
        var options = ProducerOptions()
        // Each call waits for its record, so there is nothing to collect.
        options.lingerMilliseconds = 0
        options.deliveryMillisecondsMax = Self.deliveryMillisecondsMax
        producer = try Producer(
            settings: settings, options: options, name: "catalog", log: .silent, metrics: metrics)
        self.catalog = try producer.topic(named: catalog)
        self.audit = try producer.topic(named: audit)
        self.author = author
    }

    /// Makes one change of the catalog.
    package func write(_ change: CatalogChange, now: WallTime) throws {
        try writeRecord(
            change.key, value: change.value, entry: change.auditEntry(by: author, at: now.milliseconds))
    }

    /// Deletes an app. Its keys go first, because they must not give access to a new app with the same id.
    ///
    /// - Parameter otherRecordKeys: The keys of the app's other records, for example types and segments. They have
    ///   no separate entries in the audit.
    package func delete(
        _ app: App, withKeys keys: [APIKey], otherRecordKeys: [[UInt8]] = [], now: WallTime
    ) throws {
        for key in keys { try write(.delete(key), now: now) }
        for key in otherRecordKeys {
            _ = try producer.storeRecord(action: "write the catalog", in: catalog, key: key, value: nil)
        }
        try write(.delete(app), now: now)
    }

    /// Writes the record of the installation's sealing keys.
    ///
    /// - Parameter action: The kind of the change for the audit, such as `sealing-keys.use`.
    package func put(_ record: SealingRecord, action: String, now: WallTime) throws {
        let entry = auditEntry(at: now, action: action, subject: "key \(record.newestKeyNumber)")
        try writeRecord(SealingRecord.key, value: record.encoded(), entry: entry)
    }

    /// Writes an audit entry for an action that changes no record. Returns the cluster's timestamp.
    package func recordAction(_ action: String, now: WallTime) throws -> Int64? {
        let entry = auditEntry(at: now, action: action)
        return try producer.storeRecord(
            action: "write the audit", in: audit, key: entry.key, value: entry.encoded()
        ).stamp
    }

    /// Returns an entry that concerns no single app.
    private func auditEntry(at now: WallTime, action: String, subject: String? = nil) -> AuditEntry {
        AuditEntry(
            at: now.milliseconds, author: author, action: action, app: AuditEntry.everyApp, subject: subject)
    }

    /// Writes the audit entry and then the record. A crash in between leaves an entry without its change, but never a
    /// change without an entry.
    private func writeRecord(_ key: [UInt8], value: [UInt8]?, entry: AuditEntry) throws(KafkaError) {
        _ = try producer.storeRecord(
            action: "write the audit", in: audit, key: entry.key, value: entry.encoded())
        _ = try producer.storeRecord(action: "write the catalog", in: catalog, key: key, value: value)
    }
}
