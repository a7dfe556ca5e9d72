package import Identifiers
package import JSON
internal import RecordFormat

/// One iOS app in the catalog, with its identity at Apple and its activity types. The app's private key is not
/// part of the record: it is a file on the senders.
package struct App: JSONRecord, Hashable {
    /// Version 2 writes the lifetime of an update token with its unit. Version 1 wrote milliseconds.
    package static let schemaVersion = 2
    /// The maximum length of a bundle id in bytes.
    package static let bundleIDBytesMax = 155

    package var id: String
    package var bundleID: String
    package var environments: [Environment]
    package var teamID: String
    package var keyID: String
    package var activityTypes: [ActivityType]
    /// The settings for proofs of a user's identity, or nil if reports need no proof.
    package var userProof: UserProofSettings?
    /// Whether phones may schedule and cancel without a proof of their user. Anyone with the app can then do it for
    /// any user.
    package var allowsUnprovenSchedules = false

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

    /// The key of the record, for example `app/shop/`. The third part of the key is empty.
    package var key: [UInt8] { RecordKey.join("app", id, "") }

    /// Whether a phone must prove its user. Without a secret no proof could be checked.
    package var requiresUserProof: Bool {
        userProof.map { $0.requirement != .optional && !$0.secrets.isEmpty } ?? false
    }

    /// Returns the app's declaration of an activity type, or the defaults for an undeclared type.
    package func activityType(named name: String) -> ActivityType {
        activityTypes.first { $0.name.isExactlyEqual(to: name) } ?? ActivityType(name: name)
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
        if allowsUnprovenSchedules { writer.field("unprovenSchedules", true) }
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
        allowsUnprovenSchedules = record["unprovenSchedules"].optional?.bool() ?? false
    }
}

extension JSONValue {
    /// Reads a list of environments, which must have one at least and none twice.
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

    /// - Parameter isUnitless: whether times are milliseconds without a unit, as version 1 wrote them.
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

    /// Reads a bundle id, which is part of the `apns-topic` of every push.
    fileprivate func bundleID() -> String {
        let text = string()
        let isValid =
            (1...App.bundleIDBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy(Self.isAllowedInBundleID)
        if kind == .string, !isValid {
            report("must be 1 to \(App.bundleIDBytesMax) letters, digits, dots and dashes, as Apple shows it")
        }
        return text
    }

    private static func isAllowedInBundleID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
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
