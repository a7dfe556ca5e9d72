package import ContentSchemas
package import Identifiers
package import JSON
internal import Payloads
internal import RecordFormat
internal import Settings

/// One iOS app in the catalog. Its private key is never part of it: the key is a file on the senders.
package struct App: JSONRecord, Hashable {
    /// Version 2 writes the lifetime of a token with its unit.
    package static let schemaVersion = 2
    package static let bundleIDBytesMax = 155

    package var id: String
    package var bundleID: String
    package var environments: [Environment]
    package var teamID: String
    package var keyID: String
    package var activityTypes: [ActivityType]
    /// The settings for proofs of a user's identity, or nil if reports need no proof.
    package var userProof: UserProofSettings?

    package init(
        id: String, bundleID: String, environments: [Environment], teamID: String, keyID: String,
        types: [ActivityType] = []
    ) {
        self.id = id
        self.bundleID = bundleID
        self.environments = environments
        self.teamID = teamID
        self.keyID = keyID
        self.activityTypes = types
        userProof = nil
    }

    package var key: [UInt8] { RecordKey.join("app", id, "") }

    /// Returns the app's declaration of an activity type, or the defaults for an undeclared type.
    package func activityType(named name: String) -> ActivityType {
        activityTypes.first { $0.name == name } ?? ActivityType(name: name)
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("bundleId", bundleID)
        writer.field("environments", environments.map(\.rawValue))
        writer.field("teamId", teamID)
        writer.field("keyId", keyID)
        writer.name("activityTypes")
        writer.beginArray()
        for type in activityTypes { type.write(to: &writer) }
        writer.endArray()
        if let userProof {
            writer.name("userProof")
            userProof.write(to: &writer)
        }
    }

    package init(from record: JSONObject) {
        self.init(id: record["id"].appID(), from: record)
    }

    /// Creates an app whose id is known from elsewhere, for example from the path of a request.
    package init(id: String, from record: JSONObject) {
        self.init(
            id: id, bundleID: record["bundleId"].bundleID(),
            environments: record["environments"].environments(), teamID: record["teamId"].appleID(),
            keyID: record["keyId"].appleID(),
            types: record["activityTypes"].optional?.activityTypes(
                isUnitless: record["v"].optional?.int(in: 1...App.schemaVersion) == 1) ?? [])
        userProof = record["userProof"].optional.map { UserProofSettings(from: $0.object()) }
    }
}

/// An app's declaration of one of its `ActivityAttributes` types.
package struct ActivityType: Sendable, Hashable {
    package static let countPerAppMax = 200
    package static let requiredAttributesMax = 100
    /// The default time after which an update token that was not refreshed is forgotten.
    package static let updateTokenMillisecondsDefault: Int64 = 24 * 3_600_000
    private static let updateTokenMillisecondsRange = 60_000...7 * 86_400_000

    package var name: String
    package var updateTokenMilliseconds = updateTokenMillisecondsDefault
    package var requiredAttributes: [String] = []
    package var groupAttribute = GroupAttribute.defaultName
    /// Whether each of its groups belongs to one recipient, for example an order or a timer.
    package var isPrivate = false
    /// The schemas of its `ContentState` and its attributes, if the app has given them.
    package var contentStateSchema: ContentSchema?
    package var attributesSchema: ContentSchema?

    package init(name: String) { self.name = name }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeFields(to: &writer)
        writer.endObject()
    }

    func writeFields(to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.field("updateTokenTtl", updateTokenLifetimeText)
        writer.field("requiredAttributes", requiredAttributes.isEmpty ? nil : requiredAttributes)
        writer.field("groupAttribute", groupAttribute)
        writer.field("private", isPrivate ? true : nil)
        writer.field("contentStateSchema", contentStateSchema)
        writer.field("attributesSchema", attributesSchema)
    }

    /// The lifetime in whole hours if possible, which people read more easily.
    private var updateTokenLifetimeText: String {
        let hour: Int64 = 3_600_000
        if updateTokenMilliseconds % hour == 0 { return "\(updateTokenMilliseconds / hour)h" }
        return Milliseconds(Int(updateTokenMilliseconds)).settingText
    }

    /// - Parameter isUnitless: whether times are milliseconds without a unit, as version 1 wrote them.
    package init(from object: JSONObject, isUnitless: Bool = false) {
        self.init(name: object["name"].name(), from: object, isUnitless: isUnitless)
    }

    /// Creates a type whose name is known from elsewhere, for example from the path of a request.
    package init(name: String, from object: JSONObject, isUnitless: Bool = false) {
        self.init(name: name)
        if let ttl = object["updateTokenTtl"].optional {
            updateTokenMilliseconds =
                if isUnitless, ttl.kind != .string {
                    Int64(ttl.int(in: Self.updateTokenMillisecondsRange))
                } else {
                    Self.updateTokenMilliseconds(from: ttl)
                }
        }
        requiredAttributes =
            object["requiredAttributes"].optional?.names(countMax: ActivityType.requiredAttributesMax) ?? []
        groupAttribute = object["groupAttribute"].optional?.name() ?? GroupAttribute.defaultName
        isPrivate = object["private"].optional?.bool() ?? false
        contentStateSchema = object["contentStateSchema"].optional.map(ContentSchema.init(from:))
        attributesSchema = object["attributesSchema"].optional.map(ContentSchema.init(from:))
    }

    private static func updateTokenMilliseconds(from value: JSONValue) -> Int64 {
        let text = value.kind == .string ? value.string() : ""
        if let time = Milliseconds(settingText: text), updateTokenMillisecondsRange.contains(time.count) {
            return Int64(time.count)
        }
        value.report("must be a time from 1m to 7d with its unit, such as \"24h\"", as: .outOfRange)
        return updateTokenMillisecondsDefault
    }
}

extension JSONWriter {
    fileprivate mutating func field(_ name: StaticString, _ schema: ContentSchema?) {
        guard let schema else { return }
        self.name(name)
        schema.write(to: &self)
    }
}

extension JSONValue {
    fileprivate func environments() -> [Environment] {
        var environments: [Environment] = []
        var elements = array(countMax: Environment.allCases.count)
        while let element = elements.next() {
            let environment = element.environment()
            if environments.contains(environment) { element.report("is listed twice; list it once") }
            environments.append(environment)
        }
        if kind == .array, environments.isEmpty { report("must name production, sandbox or both") }
        return environments
    }

    fileprivate func activityTypes(isUnitless: Bool) -> [ActivityType] {
        var types: [ActivityType] = []
        var names = Set<String>()
        var elements = array(countMax: ActivityType.countPerAppMax)
        while let element = elements.next() {
            let type = ActivityType(from: element.object(), isUnitless: isUnitless)
            if !names.insert(type.name).inserted { element.report("has the name of another activity type") }
            types.append(type)
        }
        return types
    }

    /// The bundle id is part of the `apns-topic` of every push.
    fileprivate func bundleID() -> String {
        let text = string()
        let isGood =
            (1...App.bundleIDBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2E
            }
        if kind == .string, !isGood {
            report("must be 1 to \(App.bundleIDBytesMax) letters, digits, dots and dashes, as Apple shows it")
        }
        return text
    }

    /// Reads a team id or a key id of Apple.
    fileprivate func appleID() -> String {
        let text = string()
        if kind == .string, !AppleIDRules.isValid(text) {
            report("must be 10 capital letters and digits, as Apple shows it")
        }
        return text
    }
}
