internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Members
internal import Telemetry

/// The lag of all consumer groups. A separate thread asks the cluster at most once a second.
final class ConsumerLagMonitor: Sendable {
    struct TopicLag: Sendable {
        var stage: String
        var topic: String
        var records: Int64
        var partitions: Int
        /// The time at which the oldest waiting record was written, in milliseconds since 1970.
        var oldestAt: Int64?
    }

    private let reader: LoopOwned<ConsumerLagReader>

    /// - Parameter prefix: The prefix of this installation's topics and groups.
    init(settings: KafkaSettings, prefix: String, log: Log) throws {
        reader = try LoopOwned(thread: "insight-fleet") { _ in
            ConsumerLagReader(settings, prefix: prefix, log: log)
        }
    }

    func stop() { reader.stop() }

    /// Returns the lags, or nil while the cluster does not answer.
    func lags() async -> [TopicLag]? {
        await withCheckedContinuation { waiting in
            if !reader.execute({ waiting.resume(returning: $0.currentLags()) }) {
                waiting.resume(returning: nil)
            }
        }
    }
}

/// The cluster's last answer, and the clients for the next one.
private final class ConsumerLagReader {
    private typealias TopicLag = ConsumerLagMonitor.TopicLag

    private static let cacheMilliseconds = 1000

    private let settings: KafkaSettings
    private let prefix: String
    private let log: Log
    private var admin: AdminClient?
    private var unreadReader: UnreadRecordReader?
    private var cached: (lags: [TopicLag], at: Instant)?

    init(_ settings: KafkaSettings, prefix: String, log: Log) {
        self.settings = settings
        self.prefix = prefix
        self.log = log
    }

    func currentLags() -> [ConsumerLagMonitor.TopicLag]? {
        let now = Instant.now()
        if let cached, now < cached.at.advanced(byMilliseconds: Self.cacheMilliseconds) { return cached.lags }
        do {
            let lags = try fetchLags()
            cached = (lags, .now())
            return lags
        } catch {
            log.warning("the lag of the consumer groups cannot be read", .field("error", "\(error)"))
            admin = nil
            unreadReader = nil
            return nil
        }
    }

    private func fetchLags() throws -> [TopicLag] {
        let admin = try admin ?? AdminClient(settings: settings, log: log, metrics: Metrics())
        self.admin = admin
        let partitions = try admin.topics().filter { $0.name.hasPrefix(prefix) }.flatMap { topic in
            topic.partitions.map { TopicPartition(topic.name, $0) }
        }
        let waiting = try unreadReader ?? UnreadRecordReader(settings: settings, log: log)
        self.unreadReader = waiting
        let groups = try admin.groupNames().filter { $0.hasPrefix(prefix) }.sorted().map { group in
            (group, try admin.lagOfConsumedPartitions(by: group, among: partitions))
        }
        let unread = try waiting.readOldest(of: groups.flatMap { $0.1 })
        return groups.flatMap { group, all -> [TopicLag] in
            let byTopic = Dictionary(grouping: all) { $0.committed.partition.topic }
            return byTopic.sorted { $0.key < $1.key }.map { topic, lags in
                let waiting = lags.filter {
                    !unread.caughtUp.contains(UnreadRecordReader.GroupPosition(of: $0))
                }
                return TopicLag(
                    stage: String(group.dropFirst(prefix.count)),
                    topic: String(topic.dropFirst(prefix.count)),
                    records: waiting.reduce(0) { $0 + Int64($1.recordCount) }, partitions: lags.count,
                    oldestAt: waiting.compactMap { unread.oldest[UnreadRecordReader.GroupPosition(of: $0)] }
                        .min())
            }
        }
    }
}

extension QueryHandler {
    func fleetReport(for call: InsightQuery, parameters: CallParameters) async throws(CallProblem)
        -> HTTPResponse
    {
        try parameters.checkAllRead()
        let lags = await lagMonitor?.lags()
        let members = await fanOut.knownMembers()
        let processes = await fanOut.knownProcesses()
        var running = LaneQuery(.running, app: call.app)
        running.names = []
        let found = await fanOut.run(running)
        return object(from: [found]) { writer in
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
            ProcessesReport(processes: processes, app: call.app).write(to: &writer)
            writer.name("lanes")
            writer.beginObject()
            writer.field("count", lanes)
            writer.field("read", found.lanes.count)
            writer.endObject()
        }
    }
}
