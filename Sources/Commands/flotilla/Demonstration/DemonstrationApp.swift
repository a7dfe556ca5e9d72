internal import APNsSimulator
internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import JSON
internal import Kafka
internal import Telemetry
internal import Topics

/// The app of `flotilla up --demo`, the API key of its phones and the API key of its backend.
struct DemonstrationApp {
    struct CreatedKey {
        /// The key with its secret, as a client sends it.
        let text: String
        /// The record of the catalog, without the secret.
        let key: APIKey
    }

    static let id = "demo"
    static let bundleID = "com.example.scores"
    /// The type of a match: what phones can decode, and how the console draws it.
    static let activityType: ActivityType = {
        let json = #"""
            {
              "name": "MatchAttributes",
              "attributesSchema": {"home": "string", "away": "string", "competition": "string?"},
              "contentStateSchema": {"home": "int", "away": "int", "minute": "int?", "phase": "string?"},
              "layout": {
                "title": "competition",
                "sides": [{"score": "home", "name": "home"}, {"score": "away", "name": "away"}],
                "progress": {"field": "minute", "end": 90},
                "lines": ["phase"],
                "steps": [{"label": "home +1", "field": "home", "add": 1}, {"label": "away +1", "field": "away", "add": 1}]
              }
            }
            """#
        guard let type = try? JSONReader().read(Array(json.utf8), decode: { ActivityType(from: $0.object()) })
        else { preconditionFailure("the demonstration's activity type is valid") }
        return type
    }()
    static let phoneCount = 1_000
    /// The lifetime of a key. Each start of the demonstration mints new keys, so they expire after a day.
    private static let keyLifetimeMilliseconds: Int64 = 86_400_000

    let app: App
    let reportKey: CreatedKey
    let sendKey: CreatedKey

    /// - Parameter keyID: the id of the provider key that the simulated APNs accepts.
    init(keyID: String, at now: WallTime) {
        app = App(
            id: Self.id, bundleID: Self.bundleID, environments: [.production],
            teamID: SimulatorCredentials.teamID, keyID: keyID, types: [Self.activityType])
        reportKey = Self.makeKey(role: .report, name: "demonstration's phones", at: now)
        sendKey = Self.makeKey(role: .send, name: "demonstration's backend", at: now)
    }

    private static func makeKey(role: APIKey.Role, name: String, at now: WallTime) -> CreatedKey {
        var (text, key) = APIKeyText.makeKey(app: id, role: role, atMilliseconds: now.milliseconds)
        key.name = name
        key.expiresAt = now.milliseconds + keyLifetimeMilliseconds
        return CreatedKey(text: text, key: key)
    }

    func addToCatalog(kafka: KafkaSettings, layout: TopicLayout, metrics: Metrics, at now: WallTime) throws {
        let writer = try CatalogWriter(
            kafka, catalog: layout.name(of: .catalog), audit: layout.name(of: .audit),
            author: "flotilla up --demo",
            metrics: metrics)
        try writer.write(.put(app, action: "update"), now: now)
        try writer.write(.put(reportKey.key, action: "create"), now: now)
        try writer.write(.put(sendKey.key, action: "create"), now: now)
    }

    /// The simulated phones that have the app.
    static var population: Population {
        let app = PhoneApp(id: id, bundleID: bundleID, types: [activityType])
        var population = Population(of: app, phones: phoneCount)
        // Half of the phones have this tag.
        population.tags = [("home-fan", 0.5)]
        return population
    }
}
