internal import Kafka
internal import Lifecycle
internal import Members
internal import Settings
internal import StageSupport
internal import Telemetry
internal import Topics

/// The service that publishes this process in the topic `members`: its version, its settings, and the open
/// breakers and suspect tokens of its sender.
final class ProcessFactsService: Service {
    let name = "members"
    private let facts: ProcessFacts
    private let environment: StageEnvironment
    private let started = StartedParts<LoopOwned<Announcing>>()

    /// The announcer, and the reader that looks for a second process with this identity once Kafka has fenced this one.
    private final class Announcing {
        let announcer: MemberAnnouncer
        var reader: MembersReader?
        var check: IdentityCheck

        init(_ announcer: MemberAnnouncer, _ facts: ProcessFacts) {
            self.announcer = announcer
            check = IdentityCheck(of: facts)
        }
    }

    /// - Parameter kinds: the stages that the process runs.
    init(of kinds: [StageKind], _ settings: ResolvedSettings, in environment: StageEnvironment) {
        self.environment = environment
        let prefixes = kinds.flatMap(\.settings).map { Self.prefix(of: $0.key) } + Self.commonPrefixes
        facts = ProcessFacts(
            process: environment.identity(of: "process"), host: CatalogAccess.hostName,
            instance: String(UInt64.random(in: .min ... .max), radix: 16), version: flotillaVersion,
            stages: kinds.map(\.name),
            settings: settings.all.compactMap { entry in
                let key = entry.declaration.key
                guard prefixes.contains(Self.prefix(of: key)) else { return nil }
                return ProcessFacts.Setting(key: key, value: entry.publicText)
            }, startedAt: WallTime.now().milliseconds)
    }

    private static let commonPrefixes: Set<String> = ["topics", "tokens", "kafka", "log", "lifecycle"]

    private static func prefix(of key: String) -> String { String(key.prefix { $0 != "." }) }

    func start(_ context: ServiceContext) async throws {
        let (facts, environment) = (facts, environment)
        started.set(
            try LoopOwned(thread: "members") {
                let announcer = try MemberAnnouncer(
                    settings: environment.cluster.settings, topic: environment.layout.name(of: .members),
                    on: $0.loop,
                    log: context.log, metrics: context.metrics)
                let announcing = Announcing(announcer, facts)
                let loop = $0.loop
                announcer.announce { [unowned announcing] in
                    if announcing.reader == nil, Self.wasFenced(context.metrics) {
                        announcing.reader = Self.lookForTwin(announcing, in: environment, on: loop, context)
                    }
                    return Self.present(facts, context.metrics)
                }
                return announcing
            })
    }

    func stop(by deadline: Instant) async {
        await started.take()?.stop {
            $0.reader?.loopWillEnd()
            $0.announcer.end()
        }
    }

    /// Whether Kafka has fenced a client of this process.
    private static func wasFenced(_ metrics: Metrics) -> Bool {
        metrics.values(of: "flotilla_kafka_rebalances_total").contains {
            $0.labels["kind"] == "fenced" && $0.number > 0
        }
            || metrics.values(of: "flotilla_kafka_transactions_total").contains {
                $0.labels["result"] == "fenced" && $0.number > 0
            }
    }

    private static func lookForTwin(
        _ announcing: Announcing, in environment: StageEnvironment, on loop: EventLoop,
        _ context: ServiceContext
    ) -> MembersReader {
        let reader = MembersReader(
            settings: environment.cluster.settings, topic: environment.layout.name(of: .members), on: loop,
            log: context.log, metrics: context.metrics)
        reader.onFacts = { [unowned announcing] facts in
            if let twin = announcing.check.check(facts) { context.fail(with: twin) }
        }
        reader.start()
        return reader
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
}
