package import CatalogRecords
internal import Identifiers
package import JSON
internal import RecordFormat
package import TokenSealing

/// The catalog at one moment: the apps with their types, segments, definitions and webhook endpoints, and the API keys,
/// from the records of the topic `catalog`. This is a value: a copy stays unchanged when later records arrive.
///
/// The key of a record has three parts, the kind, an app and a name: `segment/shop/vip`.
///
/// An unreadable record also removes the earlier record of the same key. An app or a key that a newer program
/// changed must not stay valid in its old form.
package struct CatalogSnapshot: Sendable {
    /// The effect of one record.
    package enum Effect: Sendable, Equatable {
        /// The record changed the catalog, or deleted an object.
        case changed
        /// The record has a kind that this program does not know. A newer program wrote it.
        case ignored
        /// The record is unusable, for this reason.
        case unusable(String)
    }

    /// The apps by id, with the types of their documents and the types in separate records.
    package private(set) var apps: [String: App] = [:]
    /// The apps as they were written, with the types of their documents only.
    package private(set) var documents: [String: App] = [:]
    // By app and name.
    private var types: [String: [ExactName: ActivityType]] = [:]
    private var segments: [String: [ExactName: Segment]] = [:]
    private var definitions: [String: [Int64: NotificationDefinition]] = [:]
    /// The webhook endpoints by app and name.
    package private(set) var webhooks: [String: [String: WebhookEndpoint]] = [:]
    /// The API keys by id.
    package private(set) var keys: [String: APIKey] = [:]
    /// The record of the installation's sealing keys, or nil if none has been used.
    package private(set) var sealingRecord: SealingRecord?
    /// The reasons for unusable records, by their keys in the topic.
    package private(set) var unusableRecords: [String: String] = [:]

    package init() {}

    /// Creates a catalog of some apps without a topic, for tests and benchmarks.
    package init(apps: [String: App]) { (self.apps, documents) = (apps, apps) }

    /// Returns the keys of an app, oldest first.
    package func keys(of app: String) -> [APIKey] {
        keys.values.filter { $0.app == app }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// Whether the app has a type of this name in a separate record.
    package func hasTypeRecord(named name: String, of app: String) -> Bool {
        types[app]?[ExactName(name)] != nil
    }

    /// Returns the app's segments in the order of their names.
    package func segments(of app: String) -> [Segment] {
        (segments[app] ?? [:]).values.sorted { $0.name < $1.name }
    }

    package func segment(named name: String, of app: String) -> Segment? { segments[app]?[ExactName(name)] }

    package func definitions(of app: String) -> [Int64: NotificationDefinition] { definitions[app] ?? [:] }

    package func definition(number: Int64, of app: String) -> NotificationDefinition? {
        definitions[app]?[number]
    }

    package func webhooks(of app: String) -> [String: WebhookEndpoint] { webhooks[app] ?? [:] }

    /// Returns the topic keys of an app's other records: types, segments, definitions and webhook endpoints.
    package func otherRecordKeys(of app: String) -> [[UInt8]] {
        (types[app] ?? [:]).keys.map { ActivityTypeRecord.key(app: app, name: $0.text) }
            + segments(of: app).map(\.key) + definitions(of: app).values.map(\.key)
            + webhooks(of: app).values.map(\.key)
    }

    /// Sets the app's types. A type in a separate record replaces the one in the document.
    private mutating func mergeTypes(ofApp app: String) {
        apps[app] = documents[app].map { document in
            var merged = document
            let recordTypes = types[app] ?? [:]
            merged.activityTypes = document.activityTypes.filter { recordTypes[ExactName($0.name)] == nil }
            merged.activityTypes += recordTypes.values.sorted { $0.name < $1.name }
            return merged
        }
    }

    // MARK: Records of the topic

    /// A record of the topic with the parts of its key.
    private struct TopicRecord {
        let key: [UInt8]
        /// The key as text, for people.
        let keyText: String
        let app: String
        let name: String
        /// Nil for a tombstone.
        let value: [UInt8]?
    }

    /// Applies one record of the topic. First the earlier record of the key is removed, also if the new one is
    /// unusable.
    ///
    /// - Parameter value: Nil for a tombstone.
    package mutating func apply(key: [UInt8], value: [UInt8]?, with reader: JSONReader) -> Effect {
        let keyText = String(decoding: key, as: UTF8.self)
        unusableRecords[keyText] = nil
        guard let parts = RecordKey.split(key), parts.count == 3 else {
            return value == nil ? .changed : markUnusable(keyText, reason: "the key is not kind/app/name")
        }
        let record = TopicRecord(key: key, keyText: keyText, app: parts[1], name: parts[2], value: value)
        switch parts[0] {
        case "app": return applyApp(record, with: reader)
        case "type": return applyType(record, with: reader)
        case "segment": return applySegment(record, with: reader)
        case "definition": return applyDefinition(record, with: reader)
        case "webhook": return applyWebhook(record, with: reader)
        case "key": return applyKey(record, with: reader)
        case "sealing": return applySealingRecord(record, with: reader)
        default: return .ignored
        }
    }

    private mutating func applyApp(_ record: TopicRecord, with reader: JSONReader) -> Effect {
        documents[record.app] = nil
        defer { mergeTypes(ofApp: record.app) }
        return insertDecoded(record, as: App.self, with: reader) { catalog, app in
            guard app.key == record.key else { return false }
            catalog.documents[app.id] = app
            return true
        }
    }

    private mutating func applyType(_ record: TopicRecord, with reader: JSONReader) -> Effect {
        types[record.app]?[ExactName(record.name)] = nil
        defer { mergeTypes(ofApp: record.app) }
        return insertDecoded(record, as: ActivityTypeRecord.self, with: reader) { catalog, typeRecord in
            guard typeRecord.key == record.key else { return false }
            let name = ExactName(typeRecord.type.name)
            catalog.types[typeRecord.app, default: [:]][name] = typeRecord.type
            return true
        }
    }

    private mutating func applySegment(_ record: TopicRecord, with reader: JSONReader) -> Effect {
        segments[record.app]?[ExactName(record.name)] = nil
        return insertDecoded(record, as: Segment.self, with: reader) { catalog, segment in
            guard segment.key == record.key else { return false }
            catalog.segments[segment.app, default: [:]][ExactName(segment.name)] = segment
            return true
        }
    }

    private mutating func applyDefinition(_ record: TopicRecord, with reader: JSONReader) -> Effect {
        if let number = Int64(record.name) { definitions[record.app]?[number] = nil }
        return insertDecoded(record, as: NotificationDefinition.self, with: reader) { catalog, definition in
            guard definition.key == record.key else { return false }
            catalog.definitions[definition.app, default: [:]][definition.number] = definition
            return true
        }
    }

    private mutating func applyWebhook(_ record: TopicRecord, with reader: JSONReader) -> Effect {
        webhooks[record.app]?[record.name] = nil
        return insertDecoded(record, as: WebhookEndpoint.self, with: reader) { catalog, endpoint in
            guard endpoint.key == record.key else { return false }
            catalog.webhooks[endpoint.app, default: [:]][endpoint.name] = endpoint
            return true
        }
    }

    private mutating func applyKey(_ record: TopicRecord, with reader: JSONReader) -> Effect {
        if keys[record.name]?.app == record.app { keys[record.name] = nil }
        return insertDecoded(record, as: APIKey.self, with: reader) { catalog, apiKey in
            guard apiKey.key == record.key else { return false }
            catalog.keys[apiKey.id] = apiKey
            return true
        }
    }

    private mutating func applySealingRecord(_ record: TopicRecord, with reader: JSONReader) -> Effect {
        // Unlike any other record, this one stays in use if the new one is unusable.
        let previousRecord = sealingRecord
        if record.value == nil { sealingRecord = nil }
        return insertDecoded(record, as: SealingRecord.self, with: reader) { catalog, newRecord in
            // If two processes with different keys start first at the same time, the record that was
            // written first wins. The other process reads it back and does not start.
            guard SealingRecord.key == record.key, previousRecord.map(newRecord.extends) ?? true else {
                return false
            }
            catalog.sealingRecord = newRecord
            return true
        }
    }

    /// Decodes a record and passes it to `insert`, which returns false if the record does not belong to its
    /// key. A tombstone inserts nothing.
    private mutating func insertDecoded<R: JSONRecord>(
        _ record: TopicRecord, as type: R.Type, with reader: JSONReader,
        insert: (inout CatalogSnapshot, R) -> Bool
    ) -> Effect {
        guard let value = record.value else { return .changed }
        do {
            let decoded = try R.decode(value, with: reader)
            return insert(&self, decoded)
                ? .changed
                : markUnusable(
                    record.keyText,
                    reason: "the record does not match its key, or is for other sealing keys")
        } catch {
            return markUnusable(record.keyText, reason: error.description)
        }
    }

    /// Keeps the reason for operators.
    private mutating func markUnusable(_ keyText: String, reason: String) -> Effect {
        unusableRecords[keyText] = reason
        return .unusable(reason)
    }
}
