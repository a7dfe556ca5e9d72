internal import CatalogRecords
internal import Identifiers
internal import JSON

/// The content of a portal file: apps and keys as in Apple's developer portal, and the phones of each app.
/// With several apps, teams and keys, every refusal that concerns one of them can be tested. Example:
///
///     {"apps": [{"bundleId": "com.example.app", "mayBroadcast": false}],
///      "keys": [{"keyId": "ABCDE12345", "teamId": "TEAM123456", "environments": ["sandbox"]}],
///      "phones": [{"bundleId": "com.example.app", "count": 100, "systems": ["17.1", "26.1"]}]}
struct Portal: Sendable {
    /// A key for provider tokens.
    struct Key: Sendable, Hashable {
        var keyID: String
        var teamID: String
        var environments: Set<Environment>
        /// Bundle ids of the key, nil for a key of the whole team.
        var apps: Set<String>?
    }

    /// Limits of the file. Most of it is the schemas of activity types.
    static let limits = InputFile.activityTypesLimits
    static let appsMax = 1_000
    static let keysMax = 100
    static let populationsMax = 100
    /// Limit on the iOS versions and on the environments of a population.
    static let valuesInTurnMax = 100

    /// Apps by bundle id.
    var apps: [String: SimulatedApp] = [:]
    var keys: [Key] = []
    var populations: [Population] = []

    init() {}

    init(_ value: JSONValue) {
        let object = value.object()
        for app in object["apps"].optional?.list(countMax: Self.appsMax) ?? [] {
            let fields = app.object()
            let bundleID = fields["bundleId"].bundleID()
            if apps[bundleID] != nil { fields["bundleId"].report("must not repeat another app's") }
            apps[bundleID] = SimulatedApp(mayBroadcast: fields["mayBroadcast"].optional?.bool() ?? true)
            fields.reportUnknownFields()
        }
        keys = object["keys"].optional?.list(countMax: Self.keysMax).map { Key($0) } ?? []
        if Set(keys.map(\.keyID)).count < keys.count { object["keys"].report("must have no repeated keyId") }
        populations =
            object["phones"].optional?.list(countMax: Self.populationsMax).map { Population($0) } ?? []
        if populations.reduce(0, { $0 + $1.phones }) > Population.phonesMax {
            object["phones"].report("must be at most \(Population.phonesMax) phones in total")
        }
        object.reportUnknownFields()
    }
}

extension Portal.Key {
    fileprivate init(_ value: JSONValue) {
        let object = value.object()
        keyID = object["keyId"].appleID()
        teamID = object["teamId"].appleID()
        environments =
            object["environments"].optional?.choices(of: Environment.self) ?? Set(Environment.allCases)
        apps = object["apps"].optional.map { apps in
            Set(apps.list(countMax: Portal.appsMax).map { $0.bundleID() })
        }
        object.reportUnknownFields()
    }
}

extension Population {
    /// Limit on the phones of all populations together.
    static let phonesMax = 10_000_000

    /// Activity types of an app whose types the file does not give.
    private static let typesDefault = [ActivityType(name: "MatchAttributes")]

    fileprivate init(_ value: JSONValue) {
        let object = value.object()
        let bundleID = object["bundleId"].bundleID()
        let types =
            object["types"].optional?.list(countMax: ActivityType.countPerAppMax).map {
                ActivityType(from: $0.object())
            } ?? Self.typesDefault
        if types.isEmpty || Set(types.map(\.name)).count < types.count {
            object["types"].report("must have at least one type and no repeated name")
        }
        self.init(
            of: PhoneApp(id: object["app"].optional?.string() ?? bundleID, bundleID: bundleID, types: types),
            phones: object["count"].int(in: 1...Self.phonesMax))
        systemsInTurn =
            object["systems"].optional?.list(countMax: Portal.valuesInTurnMax).map { $0.system() }
            ?? [Self.newestSystem]
        environmentsInTurn =
            object["environments"].optional?.list(countMax: Portal.valuesInTurnMax).map {
                $0.choice(of: Environment.self) ?? .production
            } ?? []
        object.reportUnknownFields()
    }
}

extension JSONValue {
    fileprivate func list(countMax: Int) -> [JSONValue] {
        array(countMax: countMax).map { $0 }
    }

    fileprivate func bundleID() -> String {
        let text = string()
        if kind == .string, !ASCIIText.isBundleID(Array(text.utf8).span) { report("must be a bundle id") }
        return text
    }

    /// Reads the id of a key or of a team.
    fileprivate func appleID() -> String {
        let text = string()
        if kind == .string, !AppleIDRules.isValid(text) { report("must be ten capital letters and digits") }
        return text
    }

    fileprivate func system() -> OSVersion {
        let text = string()
        let system = OSVersion(text)
        if kind == .string, system == nil { report("must be a version of iOS, such as 17.1") }
        return system ?? Population.newestSystem
    }
}
