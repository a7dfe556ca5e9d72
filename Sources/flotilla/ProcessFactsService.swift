internal import Kafka
internal import Lifecycle
internal import Members
internal import Settings
internal import Stages
internal import Telemetry
internal import Topics

/// Tells `members` of this process, for whoever looks at the fleet: its version, its settings, and what its sender
/// has in the way.
final class ProcessFactsService: Service {
    let name = "members"
    private let facts: ProcessFacts
    private let environment: StageEnvironment
    private let started = Started<LoopOwned<MemberAnnouncer>>()

    /// - Parameter kinds: what the process runs.
    init(of kinds: [StageKind], _ settings: ResolvedSettings, in environment: StageEnvironment) {
        self.environment = environment
        let prefixes = kinds.flatMap(\.settings).map { Self.prefix(of: $0.key) } + Self.commonPrefixes
        facts = ProcessFacts(
            process: environment.identity(of: "process"), version: flotillaVersion, stages: kinds.map(\.name),
            settings: settings.all.compactMap { entry in
                let key = entry.declaration.key
                guard prefixes.contains(Self.prefix(of: key)) else { return nil }
                return ProcessFacts.Setting(key: key, value: entry.shown)
            }, startedAt: WallTime.now().milliseconds)
    }

    private static let commonPrefixes: Set<String> = ["topics", "tokens", "kafka", "log", "lifecycle"]

    private static func prefix(of key: String) -> String { String(key.prefix { $0 != "." }) }

    func start(_ context: ServiceContext) async throws {
        let (facts, environment) = (facts, environment)
        started.put(
            try LoopOwned(thread: "members") {
                let announcer = try MemberAnnouncer(
                    environment.cluster.settings, topic: environment.layout.name(.members), on: $0.loop,
                    log: context.log, metrics: context.metrics)
                announcer.announce { Self.present(facts, context.metrics) }
                return announcer
            })
    }

    func stop(by deadline: Instant) async { await started.take()?.stop { $0.end() } }

    private static func present(_ facts: ProcessFacts, _ metrics: Metrics) -> ProcessFacts {
        var present = facts
        let open = metrics.values(of: "flotilla_sender_breaker_open").filter { $0.number > 0 }
        present.openBreakers = open.prefix(ProcessFacts.breakersMax).compactMap { value in
            guard let app = value.labels["app"], let place = value.labels["environment"] else { return nil }
            return ProcessFacts.Breaker(app: app, environment: place)
        }
        present.suspectTokens = metrics.values(of: "flotilla_sender_suspect_tokens").first.map {
            Int($0.number)
        }
        return present
    }
}
