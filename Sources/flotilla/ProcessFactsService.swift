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
    private let started = Started<Running>()

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
        started.put(try Running(facts, in: environment, context))
    }

    func stop(by deadline: Instant) async { started.take()?.stop() }
}

/// `@unchecked Sendable`: the announcer is touched on the loop only.
private final class Running: @unchecked Sendable {
    private let loop: EventLoop
    private let announcer: MemberAnnouncer

    init(_ facts: ProcessFacts, in environment: StageEnvironment, _ context: ServiceContext) throws {
        loop = try EventLoop(name: "members")
        announcer = try MemberAnnouncer(
            environment.cluster.settings, topic: environment.layout.name(.members), on: loop,
            log: context.log, metrics: context.metrics)
        try loop.start()
        let metrics = context.metrics
        loop.execute { self.announcer.announce { Self.present(facts, metrics) } }
    }

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

    func stop() {
        _ = loop.perform { self.announcer.end() }
        loop.stop()
    }
}
