internal import Catalog
internal import Kafka
internal import Lifecycle
internal import Settings
internal import StageSupport
internal import Topics

/// The settings of `flotilla run`. The settings of the stages are declared by the stages.
struct RunSettings: OperatorSettings {
    /// The data directory, or an empty text for the default.
    var data = ""

    static let declared = SettingsGroup(prefix: "run", defaults: RunSettings()) { declare in
        declare(
            "data", sets: \.data,
            "directory of the stages' state, with a slot for each process; the default is flotilla in the user's state directory"
        )
    }

    /// Returns the data directory that is set, or the default.
    func dataDirectory() throws -> String { data.isEmpty ? try DataDirectory.defaultPath() : data }
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
        let dataDirectory = try DataDirectory.create(at: settings[RunSettings.self].dataDirectory())
        let cluster = Cluster(settings: settings[KafkaSettings.self])
        let catalog = CatalogReader(cluster, topic: layout.name(of: .catalog))
        let environment = StageEnvironment(
            cluster: cluster, layout: layout, slot: try StateSlot.acquire(in: dataDirectory),
            sealingKeys: try SealingKeyFile.read(settings: settings, log: process.log), catalog: catalog)
        let stages = kinds.map { $0.make(settings, environment) }
        let admin = AdminService(settings: settings, stages: stages)
        let usedTopics = Set(kinds.flatMap(\.topics) + [.members])
        let topics = TopicsService(mode: .check(Array(usedTopics)), layout: layout, cluster: cluster)
        let keys = SealingKeysService(environment: environment)
        let facts = ProcessFactsService(of: kinds, settings: settings, in: environment)
        try await process.run([admin, topics, catalog, keys, facts, UnusedFilesService()] + stages) {
            admin.beginServing()
        }
    }

    private static func stageKinds(named names: [String]) throws -> [StageKind] {
        let stageNames = StageKind.all.map(\.name).joined(separator: ", ")
        if names.isEmpty { throw CommandError(status: .usage, "name a stage to run: \(stageNames)") }
        guard Set(names).count == names.count else {
            throw CommandError(status: .usage, "a stage is named twice")
        }
        return try names.map { name in
            guard let kind = StageKind.named(name) else {
                throw CommandError(status: .usage, "there is no stage \(name); there are \(stageNames)")
            }
            return kind
        }
    }
}
