internal import Catalog
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Topics

extension AllSettings {
    static let runData = Setting(
        "run.data", default: "",
        "where the stages keep their state, a slot for each process; else flotilla in the user's state directory"
    )

    static let run: [Declaration] = [runData.declaration]
}

extension Command {
    /// Any set of stages in one process; a stage scales by starting more processes.
    static let run = Command(
        name: "run",
        summary: "Runs one or more stages: \(StageKind.all.map(\.name).joined(separator: ", ")).",
        usage: "STAGE… [--data DIR]",
        example: "flotilla run ingest --data /var/lib/flotilla --kafka-brokers kafka-1:9092",
        namespace: "run",
        settings: [
            "run.", "gateway.", "ingest.", "topics.", "tokens.", "kafka.", "admin.", "log.", "lifecycle.",
        ],
        runsUntilStopped: true
    ) { invocation in
        let kinds = try stages(invocation.words)
        let settings = invocation.settings
        let process = RunningProcess(settings)
        let named = settings[AllSettings.runData]
        let data = try DataDirectory.make(named.isEmpty ? DataDirectory.ofUser() : named)
        let kafka = KafkaSettings(settings)
        let layout = TopicLayout(settings)
        let surroundings = StageSurroundings(
            settings: settings, kafka: { kafka }, layout: layout,
            slot: try Slot.take(under: data + "/slots"),
            catalog: CatalogReader(kafka, topic: layout.name(.catalog)),
            sealingKeys: try SealingKeyFile.read(settings, log: process.log))
        let running = try kinds.map { try $0.make(surroundings) }
        let admin = AdminService(settings, stages: running)
        let topics = TopicsService(
            duty: .check(Array(Set(kinds.flatMap(\.topics)))), layout: layout,
            kafka: surroundings.kafka)
        let keys = SealingKeysService(
            keys: surroundings.sealingKeys, catalog: surroundings.catalog, kafka: surroundings.kafka,
            layout: layout)
        try await process.run([admin, topics, surroundings.catalog, keys] + running) { admin.beginServing() }
    }

    private static func stages(_ words: [String]) throws -> [StageKind] {
        let known = StageKind.all.map(\.name).joined(separator: ", ")
        if words.isEmpty { throw Refusal(status: .usage, "name a stage to run: \(known)") }
        guard Set(words).count == words.count else {
            throw Refusal(status: .usage, "a stage is named twice")
        }
        return try words.map { word in
            guard let kind = StageKind.named(word) else {
                throw Refusal(status: .usage, "there is no stage \(word); there are \(known)")
            }
            return kind
        }
    }
}
