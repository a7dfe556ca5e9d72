internal import Catalog
internal import Kafka
internal import Lifecycle
internal import Settings
internal import StageSupport
internal import Topics

struct RunSettings: OperatorSettings {
    var data = ""

    static let declared = SettingsGroup(prefix: "run", defaults: RunSettings()) { declare in
        declare(
            "data", sets: \.data,
            "directory of the stages' state, with a slot for each process; the default is flotilla in the user's state directory"
        )
    }
}

extension Command {
    /// `flotilla run`: any set of stages in one process. To scale a stage, start more processes.
    static let run = Command(
        name: "run",
        summary: "Runs one or more stages: \(StageKind.all.map(\.name).joined(separator: ", ")).",
        usage: "STAGE… [--data DIR]",
        example: "flotilla run ingest --data /var/lib/flotilla --kafka-brokers kafka-1:9092",
        namespace: "run",
        settings: ["run."] + StageKind.settingPrefixes + [
            "topics.", "tokens.", "kafka.", "admin.", "log.", "lifecycle.",
        ],
        runsUntilStopped: true
    ) { invocation in
        let kinds = try stageKinds(named: invocation.positionals)
        let settings = invocation.settings
        let layout = TopicLayout(settings: settings)
        try DescriptorRequirement(stages: kinds, lanes: layout.lanes).verifyLimit()
        let process = RunningProcess(settings: settings)
        let named = settings[RunSettings.self].data
        let data = try DataDirectory.create(at: named.isEmpty ? DataDirectory.defaultPath() : named)
        let cluster = Cluster(settings: settings[KafkaSettings.self])
        let catalog = CatalogReader(cluster, topic: layout.name(of: .catalog))
        let environment = StageEnvironment(
            cluster: cluster, layout: layout, slot: try StateSlot.acquire(in: data),
            sealingKeys: try SealingKeyFile.read(settings: settings, log: process.log), catalog: catalog)
        let stages = kinds.map { $0.make(settings, environment) }
        let admin = AdminService(settings: settings, stages: stages)
        let topics = TopicsService(
            mode: .check(Array(Set(kinds.flatMap(\.topics) + [.members]))), layout: layout, cluster: cluster)
        let keys = SealingKeysService(environment: environment)
        let facts = ProcessFactsService(of: kinds, settings: settings, in: environment)
        try await process.run([admin, topics, catalog, keys, facts, UnusedFilesService()] + stages) {
            admin.beginServing()
        }
    }

    private static func stageKinds(named words: [String]) throws -> [StageKind] {
        let known = StageKind.all.map(\.name).joined(separator: ", ")
        if words.isEmpty { throw CommandError(status: .usage, "name a stage to run: \(known)") }
        guard Set(words).count == words.count else {
            throw CommandError(status: .usage, "a stage is named twice")
        }
        return try words.map { word in
            guard let kind = StageKind.named(word) else {
                throw CommandError(status: .usage, "there is no stage \(word); there are \(known)")
            }
            return kind
        }
    }
}
