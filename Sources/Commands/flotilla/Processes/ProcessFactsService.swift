internal import Kafka
internal import Lifecycle
internal import Members
internal import Settings
internal import StageSupport
internal import Telemetry
internal import Topics

/// A service that publishes facts about this process in the topic `members`: its version, its settings, and the open
/// breakers and suspect tokens of its sender.
final class ProcessFactsService: Service {
    let name = "members"
    private let facts: ProcessFacts
    private let environment: StageEnvironment
    private let started = StartedParts<LoopOwned<AnnouncerState>>()

    /// The announcer of the facts. Once Kafka has fenced a client of this process, there is also a reader
    /// that looks for a second process with this identity. Confined to the loop of the thread `members`.
    private final class AnnouncerState {
        let announcer: MemberAnnouncer
        var reader: MembersReader?
        var identityCheck: IdentityCheck

        init(announcer: MemberAnnouncer, facts: ProcessFacts) {
            self.announcer = announcer
            identityCheck = IdentityCheck(of: facts)
        }
    }

    /// - Parameters:
    ///   - kinds: the stages that the process runs.
    ///   - dataDirectory: the data directory of `flotilla up`, in which other commands find the sealing keys.
    init(
        of kinds: [StageKind], settings: ResolvedSettings, in environment: StageEnvironment,
        dataDirectory: String? = nil
    ) {
        self.environment = environment
        let publishedPrefixes =
            kinds.flatMap(\.settings).map { Self.prefix(of: $0.key) } + Self.commonPrefixes
        let published: [ProcessFacts.Setting] = settings.allEntries.compactMap { entry in
            let key = entry.declaration.key
            guard publishedPrefixes.contains(Self.prefix(of: key)) else { return nil }
            return ProcessFacts.Setting(key: key, value: entry.publicText)
        }
        facts = ProcessFacts(
            process: environment.identity(of: "process"), host: CatalogAccess.hostName,
            instance: String(UInt64.random(in: .min ... .max), radix: 16), version: flotillaVersion,
            stages: kinds.map(\.name),
            settings: published + RunningInstallation.settings(ofDataDirectory: dataDirectory),
            startedAt: WallTime.now().milliseconds)
    }

    /// The prefixes of the settings that every process publishes.
    private static let commonPrefixes: Set<String> = ["topics", "tokens", "kafka", "log", "lifecycle"]

    /// Returns the part of a setting's key before the first dot.
    private static func prefix(of key: String) -> String { String(key.prefix { $0 != "." }) }

    func start(_ context: ServiceContext) async throws {
        let (facts, environment) = (facts, environment)
        started.set(
            try LoopOwned(thread: "members") {
                let announcer = try MemberAnnouncer(
                    cluster: environment.cluster, topic: environment.layout.name(of: .members), on: $0.loop,
                    log: context.log, metrics: context.metrics)
                let state = AnnouncerState(announcer: announcer, facts: facts)
                let loop = $0.loop
                announcer.announce { [unowned state] in
                    if state.reader == nil, Self.wasFenced(accordingTo: context.metrics) {
                        state.reader = Self.watchForDuplicate(
                            of: state, in: environment, on: loop, context: context)
                    }
                    var current = Self.currentFacts(basedOn: facts, metrics: context.metrics)
                    current.deliveries = environment.webhookDeliveries.newest
                    return current
                }
                return state
            })
    }

    func stop(by deadline: Instant) async {
        await started.take()?.stop {
            $0.reader?.loopWillEnd()
            $0.announcer.end()
        }
    }

    /// Whether Kafka has fenced a client of this process.
    private static func wasFenced(accordingTo metrics: Metrics) -> Bool {
        let wasMemberFenced = metrics.values(of: "flotilla_kafka_rebalances_total").contains {
            $0.labels["kind"] == "fenced" && $0.number > 0
        }
        let wasProducerFenced = metrics.values(of: "flotilla_kafka_transactions_total").contains {
            $0.labels["result"] == "fenced" && $0.number > 0
        }
        return wasMemberFenced || wasProducerFenced
    }

    /// Starts the reader. It ends this process if a second process announces the same identity.
    private static func watchForDuplicate(
        of state: AnnouncerState, in environment: StageEnvironment, on loop: EventLoop,
        context: ServiceContext
    ) -> MembersReader {
        let reader = MembersReader(
            cluster: environment.cluster, topic: environment.layout.name(of: .members), on: loop,
            log: context.log, metrics: context.metrics)
        reader.onFacts = { [unowned state] facts in
            if let duplicate = state.identityCheck.check(facts) { context.fail(with: duplicate) }
        }
        reader.start()
        return reader
    }

    /// Returns the facts with the current breakers and suspect tokens, which are read from the sender's metrics.
    private static func currentFacts(basedOn facts: ProcessFacts, metrics: Metrics) -> ProcessFacts {
        var current = facts
        let openBreakers = metrics.values(of: "flotilla_sender_breaker_open").filter { $0.number > 0 }
        current.openBreakers = openBreakers.prefix(ProcessFacts.breakersMax).compactMap { value in
            guard let app = value.labels["app"], let environment = value.labels["environment"] else {
                return nil
            }
            return ProcessFacts.Breaker(app: app, environment: environment)
        }
        current.suspectTokens = metrics.values(of: "flotilla_sender_suspect_tokens").first.map {
            Int($0.number)
        }
        return current
    }
}
