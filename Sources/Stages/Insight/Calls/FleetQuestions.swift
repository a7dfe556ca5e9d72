internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import Telemetry

/// The lag of all consumer groups. A separate thread asks the cluster at most once a second.
final class FleetQuestions: Sendable {
    struct Lag: Sendable {
        var stage: String
        var topic: String
        var records: Int64
        var partitions: Int
        /// The time at which the oldest waiting record was written, in milliseconds since 1970.
        var oldestAt: Int64?
    }

    private let look: LoopOwned<FleetLook>

    /// - Parameter prefix: The prefix of this installation's topics and groups.
    init(_ settings: KafkaSettings, prefix: String, log: Log) throws {
        look = try LoopOwned(thread: "insight-fleet") { _ in FleetLook(settings, prefix: prefix, log: log) }
    }

    func stop() { look.stop() }

    /// Returns the lags, or nil while the cluster does not answer.
    func lags() async -> [Lag]? {
        await withCheckedContinuation { waiting in
            if !look.execute({ waiting.resume(returning: $0.present()) }) { waiting.resume(returning: nil) }
        }
    }
}

/// The cluster's last answer, and the clients for the next one.
private final class FleetLook {
    private typealias Lag = FleetQuestions.Lag

    private static let keptMilliseconds = 1000

    private let settings: KafkaSettings
    private let prefix: String
    private let log: Log
    private var admin: Admin?
    private var waiting: WaitingRecords?
    private var known: (lags: [Lag], at: Instant)?

    init(_ settings: KafkaSettings, prefix: String, log: Log) {
        self.settings = settings
        self.prefix = prefix
        self.log = log
    }

    func present() -> [FleetQuestions.Lag]? {
        let now = Instant.now()
        if let known, now < known.at.advanced(byMilliseconds: Self.keptMilliseconds) { return known.lags }
        do {
            let lags = try ask()
            known = (lags, .now())
            return lags
        } catch {
            log.warning("the lag of the consumer groups cannot be read", .field("error", "\(error)"))
            admin = nil
            waiting = nil
            return nil
        }
    }

    private func ask() throws -> [Lag] {
        let admin = try admin ?? Admin(settings, log: log, metrics: Metrics())
        self.admin = admin
        let partitions = try admin.topics().filter { $0.name.hasPrefix(prefix) }.flatMap { topic in
            topic.partitions.map { TopicPartition(topic.name, $0) }
        }
        let waiting = try waiting ?? WaitingRecords(settings, log: log)
        self.waiting = waiting
        let groups = try admin.groups().filter { $0.hasPrefix(prefix) }.sorted().map { group in
            (group, try admin.lagOfWhatIsRead(by: group, among: partitions))
        }
        let look = try waiting.look(at: groups.flatMap { $0.1 })
        return groups.flatMap { group, all -> [Lag] in
            let byTopic = Dictionary(grouping: all) { $0.committed.partition.topic }
            return byTopic.sorted { $0.key < $1.key }.map { topic, lags in
                let waiting = lags.filter { !look.empty.contains(WaitingRecords.Place($0)) }
                return Lag(
                    stage: String(group.dropFirst(prefix.count)),
                    topic: String(topic.dropFirst(prefix.count)),
                    records: waiting.reduce(0) { $0 + Int64($1.records) }, partitions: lags.count,
                    oldestAt: waiting.compactMap { look.oldest[WaitingRecords.Place($0)] }.min())
            }
        }
    }
}

extension Answering {
    func fleetReport(_ call: InsightCall, _ parameters: CallParameters) async throws(CallProblem)
        -> HTTPResponse
    {
        try parameters.end()
        let lags = await fleet?.lags()
        let members = await asking.knownMembers()
        let processes = await asking.knownProcesses()
        var running = Question(.running, app: call.app)
        running.names = []
        let found = await asking.ask(running)
        return object([found]) { writer in
            writer.objects("lag", of: lags ?? []) { lag, writer in
                writer.field("stage", lag.stage)
                writer.field("topic", lag.topic)
                writer.field("records", lag.records)
                writer.field("partitions", lag.partitions)
                writer.field("oldestAt", lag.oldestAt)
            }
            writer.field("lagUnknown", lags == nil ? true : nil)
            writer.objects("members", of: members) { member, writer in
                writer.field("stage", member.stage)
                writer.field("process", member.process)
                writer.field("address", member.address)
                writer.field("startedAt", member.startedAt)
                writer.field("heardAt", member.at)
                let isAway = !member.lanes.isEmpty && Set(member.lanes).isDisjoint(with: found.lanes)
                writer.field("isAway", isAway ? true : nil)
                writer.list("lanes", of: member.lanes) { $1.value($0) }
            }
            ProcessesReport(processes, app: call.app).write(to: &writer)
            writer.name("lanes")
            writer.beginObject()
            writer.field("count", lanes)
            writer.field("read", found.lanes.count)
            writer.endObject()
        }
    }
}
