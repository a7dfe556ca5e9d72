internal import APNsSimulator
internal import Catalog
internal import CatalogRecords
internal import Identifiers
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
    static let activityType: ActivityType = {
        var type = ActivityType(name: "MatchAttributes")
        var layout = ActivityLayout()
        layout.sides = [.init(score: "home", name: "home"), .init(score: "away", name: "away")]
        layout.steps = [
            .init(label: "home +1", field: "home", addend: 1),
            .init(label: "away +1", field: "away", addend: 1),
        ]
        type.layout = layout
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
