internal import Broker
internal import Catalog
internal import Gateway
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Synchronization
internal import Topics

extension AllSettings {
    static let upData = Setting(
        "up.data", default: "",
        "where `flotilla up` keeps everything; else flotilla in the user's state directory")

    static let up: [Declaration] = [upData.declaration]
}

extension Command {
    /// A whole installation on one machine: the embedded broker and, one by one as they are built, the stages.
    static let up = Command(
        name: "up", summary: "Runs a whole installation on this machine, durable, without Kafka or Docker.",
        usage: "[--demo] [--data DIR]", example: "flotilla up --demo --data /tmp/flotilla-demo",
        namespace: "up",
        settings: [
            "up.", "broker.listen", "broker.flush", "topics.prefix", "topics.lanes", "tokens.", "gateway.",
            "ingest.", "apns-simulator.",
            "admin.", "log.", "lifecycle.",
        ],
        options: [
            ("--demo", false, "shows what works, on this installation, and leaves it running to be tried")
        ], runsUntilStopped: true
    ) { invocation in
        try invocation.refuseWords()
        let isDemo = invocation.options["--demo"] != nil
        let data = try dataDirectory(invocation.settings)
        let process = RunningProcess(invocation.settings)
        let address = BrokerAddress()
        let layout = TopicLayout(invocation.settings, replication: 1)
        let surroundings = StageSurroundings(
            settings: invocation.settings, kafka: { KafkaSettings(brokers: [address.value]) },
            layout: layout, slot: try Slot.take(under: data + "/slots"),
            catalog: CatalogReader(
                KafkaSettings(brokers: [address.value]), topic: layout.name(.catalog)),
            sealingKeys: try SealingKeyFile.readOrMake(invocation.settings, data: data, log: process.log))
        let stages = try StageKind.all.map { try $0.make(surroundings) }
        let admin = AdminService(invocation.settings, stages: stages)
        let broker = BrokerService(try brokerSettings(invocation.settings, data: data + "/broker")) {
            running in
            address.set("\(running.host):\(running.port)")
        }
        let topics = TopicsService(
            duty: .create, layout: layout, kafka: surroundings.kafka)
        let keys = SealingKeysService(
            keys: surroundings.sealingKeys, catalog: surroundings.catalog, kafka: surroundings.kafka,
            layout: layout)
        var services: [any Service] = [admin, broker, topics, surroundings.catalog, keys] + stages
        if isDemo {
            guard let gateway = stages.lazy.compactMap({ $0 as? GatewayService }).first else {
                preconditionFailure("up runs all stages")
            }
            services.append(
                DemonstrationService(data: data, surroundings, gateway: gateway, admin: admin))
        }
        try await process.run(services) { admin.beginServing() }
    }

    private static func dataDirectory(_ settings: ResolvedSettings) throws -> String {
        let named = settings[AllSettings.upData]
        return try DataDirectory.make(named.isEmpty ? DataDirectory.ofUser() : named)
    }
}

/// Where the broker serves, known when it has started: the port may be the system's choice.
final class BrokerAddress: Sendable {
    private let text = Mutex("")
    func set(_ address: String) { text.withLock { $0 = address } }
    var value: String { text.withLock { $0 } }
}
