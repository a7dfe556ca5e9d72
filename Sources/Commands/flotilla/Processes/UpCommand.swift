internal import Broker
internal import Catalog
internal import Gateway
internal import Kafka
internal import Lifecycle
internal import Sender
internal import Settings
internal import StageSupport
internal import Store
internal import Topics

/// The settings of `flotilla up`. The settings of broker and stages are declared by their modules.
struct UpSettings: OperatorSettings {
    /// The data directory, or an empty text for the default.
    var data = ""

    static let declared = SettingsGroup(prefix: "up", defaults: UpSettings()) { declare in
        declare(
            "data", sets: \.data,
            "directory of all data of `flotilla up`; the default is flotilla in the user's state directory")
    }
}

extension Command {
    /// `flotilla up`: a whole installation on one machine, with the embedded broker and all stages.
    static let up = Command(
        name: "up", summary: "Runs a whole installation on this machine, durable, without Kafka or Docker.",
        usage: "[--demo] [--data DIR]", example: "flotilla up --demo --data /tmp/flotilla-demo",
        namespace: "up",
        settings: ["up.", "broker.listen", "broker.flush", "topics.prefix", "topics.lanes", "tokens."]
            + StageKind.settingPrefixes + ["apns-simulator.", "admin.", "log.", "lifecycle."],
        options: [
            .flag(
                "--demo",
                "starts simulated phones, sends a match to them, and keeps running so that you can try it"
            )
        ], runsUntilStopped: true
    ) { invocation in
        try invocation.requireNoPositionals()
        let isDemo = invocation.hasOption("--demo")
        let settings = invocation.settings
        let layout = TopicLayout(settings: settings, replication: 1)
        try DescriptorRequirement(stages: StageKind.all, lanes: layout.lanes, hasBroker: true, isDemo: isDemo)
            .verifyLimit()
        let dataDirectory = try DataDirectory.create(
            at: Command.dataDirectory(settings: settings, isDemo: isDemo))
        // The lock reports at once that another process uses the directory, and `flotilla down` finds this
        // process by it.
        let lock = try DirectoryLock(directory: dataDirectory)
        let process = RunningProcess(settings: settings)
        let cluster = Cluster()
        let catalog = CatalogReader(cluster, topic: layout.name(of: .catalog))
        let environment = StageEnvironment(
            cluster: cluster, layout: layout, slot: try StateSlot.acquire(in: dataDirectory),
            sealingKeys: try SealingKeyFile.readOrCreate(
                settings: settings, in: dataDirectory, log: process.log),
            catalog: catalog, embeddedSimulator: isDemo ? EmbeddedAPNsSimulator() : nil)
        let stages = StageKind.all.map { $0.make(settings, environment) }
        let admin = AdminService(settings: settings, stages: stages)
        var brokerSettings = settings[BrokerSettings.self]
        brokerSettings.dataDirectory = dataDirectory + "/broker"
        // The cluster's address is known when the broker listens. The services after the broker use it.
        let broker = BrokerService(settings: brokerSettings) { running in
            cluster.setAddress("\(running.host):\(running.port)")
        }
        let topics = TopicsService(mode: .create, layout: layout, cluster: cluster)
        let keys = SealingKeysService(environment: environment)
        let facts = ProcessFactsService(
            of: StageKind.all, settings: settings, in: environment, dataDirectory: dataDirectory)
        var services: [any Service] = [
            admin, broker, topics, catalog, keys, facts, UnusedFilesService(),
        ]
        if isDemo {
            services += demonstrationServices(
                stages: stages, dataDirectory: dataDirectory, settings: settings, in: environment)
        } else {
            services += stages
        }
        try await process.run(services) { admin.beginServing() }
        // The lock is held until here.
        _ = consume lock
    }

    /// Returns the stages with the services of the demonstration. The phones start before the sender, which
    /// pushes to them.
    private static func demonstrationServices(
        stages: [any Stage], dataDirectory: String, settings: ResolvedSettings,
        in environment: StageEnvironment
    ) -> [any Service] {
        guard let gateway = stages.lazy.compactMap({ $0 as? GatewayService }).first else {
            preconditionFailure("up runs all stages")
        }
        let phones = DemonstrationPhones(
            dataDirectory: dataDirectory, settings: settings, in: environment, gateway: gateway)
        let demonstration = DemonstrationService(
            dataDirectory: dataDirectory, in: environment, stages: stages, gateway: gateway, phones: phones)
        return stages.flatMap { stage -> [any Service] in stage is SenderService ? [phones, stage] : [stage] }
            + [demonstration]
    }

    /// Returns the data directory. A demonstration has its own, because its sender pushes everything to
    /// simulated phones.
    static func dataDirectory(settings: ResolvedSettings, isDemo: Bool) throws -> String {
        let setDirectory = settings[UpSettings.self].data
        guard setDirectory.isEmpty else { return setDirectory }
        return try DataDirectory.defaultPath() + (isDemo ? "-demo" : "")
    }
}
