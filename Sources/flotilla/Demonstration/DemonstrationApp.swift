internal import APNsSimulator
internal import Catalog
internal import Kafka
internal import LiveActivity
internal import Telemetry
internal import Topics

/// The app of `flotilla up --demo`, and the key that its phones report with.
struct DemonstrationApp {
    static let id = "demo"
    static let bundleID = "com.example.scores"
    static let type = ActivityType(name: "MatchAttributes")
    static let phones = 1000
    /// A demonstration mints a key at each start, and none is good for long.
    private static let keyMilliseconds: Int64 = 86_400_000

    let app: App
    let key: APIKey
    let keyText: String

    init(keyID: String, at now: WallTime) {
        app = App(
            id: Self.id, bundleID: Self.bundleID, environments: [.production],
            teamID: SimulatorCredentials.teamID, keyID: keyID, types: [Self.type])
        var (text, key) = KeyText.mint(app: Self.id, role: .report, atMilliseconds: now.milliseconds)
        key.name = "demonstration"
        key.expiresAt = now.milliseconds + Self.keyMilliseconds
        self.key = key
        keyText = text
    }

    func enter(_ kafka: KafkaSettings, _ layout: TopicLayout, metrics: Metrics, at now: WallTime) throws {
        let writer = try CatalogWriter(
            kafka, catalog: layout.name(.catalog), audit: layout.name(.audit), author: "flotilla up --demo",
            metrics: metrics)
        try writer.put(app, action: "app.update", now: now)
        try writer.put(key, action: "key.create", now: now)
    }

    static var population: Population {
        let app = PhoneApp(id: id, bundleID: bundleID, types: [type])
        var population = Population(of: app, phones: phones)
        population.tags = [("home-fan", 0.5)]
        return population
    }
}
