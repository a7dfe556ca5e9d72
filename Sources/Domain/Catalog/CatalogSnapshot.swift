package import JSON
package import LiveActivity

/// The apps with their types, segments and definitions, and the API keys, from the records of `catalog` in
/// order. This is a value: a copy stays unchanged when later records arrive.
///
/// An unreadable record also removes the earlier record of the same key. An app or a key that a newer program
/// changed must not stay valid in its old form.
package struct CatalogSnapshot: Sendable {
    package enum Effect: Sendable, Equatable {
        case changed
        /// The record has a kind that this program does not know. A newer program wrote it.
        case ignored
        /// The record is unusable, for this reason.
        case unusable(String)
    }

    /// The apps, merged with the types that have separate records.
    package private(set) var apps: [String: App] = [:]
    /// The apps as they were written, without those types.
    package private(set) var documents: [String: App] = [:]
    private var types: [String: [String: ActivityType]] = [:]
    private var segments: [String: [String: Segment]] = [:]
    private var definitions: [String: [Int64: NotificationDefinition]] = [:]
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

    /// Returns the types with separate records.
    package func types(of app: String) -> [String: ActivityType] { types[app] ?? [:] }

    package func segments(of app: String) -> [String: Segment] { segments[app] ?? [:] }

    package func segment(named name: String, of app: String) -> Segment? { segments[app]?[name] }

    package func definitions(of app: String) -> [Int64: NotificationDefinition] { definitions[app] ?? [:] }

    package func definition(number: Int64, of app: String) -> NotificationDefinition? {
        definitions[app]?[number]
    }

    /// Returns the topic keys of an app's other records: types, segments and definitions.
    package func otherRecordKeys(of app: String) -> [[UInt8]] {
        types(of: app).keys.map { ActivityTypeRecord.key(app: app, name: $0) }
            + segments(of: app).values.map(\.key) + definitions(of: app).values.map(\.key)
    }

    private mutating func mergeTypes(ofApp app: String) {
        apps[app] = documents[app].map { document in
            var whole = document
            let own = types(of: app)
            whole.activityTypes = document.activityTypes.filter { own[$0.name] == nil }
            whole.activityTypes += own.values.sorted { $0.name < $1.name }
            return whole
        }
    }

    /// Applies one record of the topic.
    ///
    /// - Parameter value: nil for a tombstone.
    package mutating func apply(key: [UInt8], value: [UInt8]?, with reader: JSONReader) -> Effect {
        let place = String(decoding: key, as: UTF8.self)
        unusableRecords[place] = nil
        guard let parts = RecordKey.split(key), parts.count == 3 else {
            return value == nil ? .changed : markUnusable(place, reason: "the key is not kind/app/name")
        }
        switch parts[0] {
        case "app":
            documents[parts[1]] = nil
            defer { mergeTypes(ofApp: parts[1]) }
            return applyRecord(at: place, value: value, as: App.self, reader: reader) { catalog, app in
                guard app.key == key else { return false }
                catalog.documents[app.id] = app
                return true
            }
        case "type":
            types[parts[1]]?[parts[2]] = nil
            defer { mergeTypes(ofApp: parts[1]) }
            return applyRecord(at: place, value: value, as: ActivityTypeRecord.self, reader: reader) {
                catalog, record in
                guard record.key == key else { return false }
                catalog.types[record.app, default: [:]][record.type.name] = record.type
                return true
            }
        case "segment":
            segments[parts[1]]?[parts[2]] = nil
            return applyRecord(at: place, value: value, as: Segment.self, reader: reader) {
                catalog, segment in
                guard segment.key == key else { return false }
                catalog.segments[segment.app, default: [:]][segment.name] = segment
                return true
            }
        case "definition":
            if let number = Int64(parts[2]) { definitions[parts[1]]?[number] = nil }
            return applyRecord(at: place, value: value, as: NotificationDefinition.self, reader: reader) {
                catalog, definition in
                guard definition.key == key else { return false }
                catalog.definitions[definition.app, default: [:]][definition.number] = definition
                return true
            }
        case "key":
            if keys[parts[2]]?.app == parts[1] { keys[parts[2]] = nil }
            return applyRecord(at: place, value: value, as: APIKey.self, reader: reader) { catalog, record in
                guard record.key == key else { return false }
                catalog.keys[record.id] = record
                return true
            }
        case "sealing":
            let standing = sealingRecord
            if value == nil { sealingRecord = nil }
            return applyRecord(at: place, value: value, as: SealingRecord.self, reader: reader) {
                catalog, record in
                // If two processes with different keys start first at the same time, the record that was
                // written first wins. The other process reads it back and does not start.
                guard SealingRecord.key == key, standing.map(record.extends) ?? true else { return false }
                catalog.sealingRecord = record
                return true
            }
        default: return .ignored
        }
    }

    private mutating func applyRecord<R: JSONRecord>(
        at place: String, value: [UInt8]?, as type: R.Type, reader: JSONReader,
        insert: (inout CatalogSnapshot, R) -> Bool
    ) -> Effect {
        guard let value else { return .changed }
        do {
            let record = try R.decode(value, with: reader)
            return insert(&self, record)
                ? .changed
                : markUnusable(
                    place, reason: "the record does not match its key, or is for other sealing keys")
        } catch {
            return markUnusable(place, reason: error.description)
        }
    }

    private mutating func markUnusable(_ place: String, reason: String) -> Effect {
        unusableRecords[place] = reason
        return .unusable(reason)
    }
}
