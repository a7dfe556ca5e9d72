package import CatalogRecords
internal import RecordFormat

/// One change of the catalog: a record to write or delete, and the facts of its audit entry.
package struct CatalogChange: Sendable {
    /// The key of the record in the topic `catalog`.
    package let key: [UInt8]
    /// Nil deletes the record.
    package let value: [UInt8]?
    // The facts of the audit entry. `AuditEntry` describes them.
    private let action: String
    private let app: String
    private let subject: String?

    /// Returns the audit entry for the change.
    ///
    /// - Parameters:
    ///   - author: A person at a machine, or the id of an API key.
    ///   - milliseconds: The time of the change, since 1970.
    package func auditEntry(by author: String, at milliseconds: Int64) -> AuditEntry {
        AuditEntry(at: milliseconds, author: author, action: action, app: app, subject: subject)
    }

    /// - Parameter action: The part of the audit's action behind `app.`, such as `update`.
    package static func put(_ app: App, action: String) -> CatalogChange {
        CatalogChange(
            key: app.key, value: app.encoded(), action: "app." + action, app: app.id, subject: nil)
    }

    package static func delete(_ app: App) -> CatalogChange {
        CatalogChange(key: app.key, value: nil, action: "app.delete", app: app.id, subject: nil)
    }

    /// - Parameter action: The part of the audit's action behind `key.`, such as `create` or `revoke`.
    package static func put(_ key: APIKey, action: String) -> CatalogChange {
        CatalogChange(
            key: key.key, value: key.encoded(), action: "key." + action, app: key.app, subject: key.id)
    }

    package static func delete(_ key: APIKey) -> CatalogChange {
        CatalogChange(key: key.key, value: nil, action: "key.delete", app: key.app, subject: key.id)
    }

    package static func put(_ record: ActivityTypeRecord) -> CatalogChange {
        CatalogChange(
            key: record.key, value: record.encoded(), action: "type.put", app: record.app,
            subject: record.type.name)
    }

    package static func deleteType(_ name: String, of app: String) -> CatalogChange {
        CatalogChange(
            key: ActivityTypeRecord.key(app: app, name: name), value: nil, action: "type.delete", app: app,
            subject: name)
    }

    package static func put(_ segment: Segment) -> CatalogChange {
        CatalogChange(
            key: segment.key, value: segment.encoded(), action: "segment.put", app: segment.app,
            subject: segment.name)
    }

    package static func delete(_ segment: Segment) -> CatalogChange {
        CatalogChange(
            key: segment.key, value: nil, action: "segment.delete", app: segment.app, subject: segment.name)
    }

    package static func put(_ definition: NotificationDefinition) -> CatalogChange {
        CatalogChange(
            key: definition.key, value: definition.encoded(), action: "definition.create",
            app: definition.app,
            subject: "\(definition.number)")
    }

    package static func delete(_ definition: NotificationDefinition) -> CatalogChange {
        CatalogChange(
            key: definition.key, value: nil, action: "definition.delete", app: definition.app,
            subject: "\(definition.number)")
    }

    /// - Parameter action: The part of the audit's action behind `webhook.`, such as `put` or `rotate`.
    package static func put(_ endpoint: WebhookEndpoint, action: String = "put") -> CatalogChange {
        CatalogChange(
            key: endpoint.key, value: endpoint.encoded(), action: "webhook." + action, app: endpoint.app,
            subject: endpoint.name)
    }

    package static func delete(_ endpoint: WebhookEndpoint) -> CatalogChange {
        CatalogChange(
            key: endpoint.key, value: nil, action: "webhook.delete", app: endpoint.app, subject: endpoint.name
        )
    }
}
