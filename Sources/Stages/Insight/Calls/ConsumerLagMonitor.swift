internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The lag of all consumer groups of the cluster. A separate thread asks the brokers, at most once a second.
final class ConsumerLagMonitor: Sendable {
    /// The lag of one stage in one topic.
    struct TopicLag: Sendable {
        var stage: String
        var topic: String
        var records: Int64
        var partitions: Int
        /// The time at which the oldest waiting record was written, in milliseconds since 1970.
        var oldestAt: Int64?
    }

    private let reader: LoopOwned<ConsumerLagReader>

    /// - Parameters:
    ///   - prefix: The prefix of this installation's topics and groups.
    ///   - isInUse: Whether the group with this name, without the prefix, still has a reader. The cluster keeps the
    ///     offsets of a deleted webhook for days, and its lag would grow.
    init(
        settings: KafkaSettings, prefix: String, isInUse: @escaping @Sendable (String) -> Bool, log: Log
    ) throws {
        reader = try LoopOwned(thread: "insight-fleet", priority: .background) { _ in
            ConsumerLagReader(settings, prefix: prefix, isInUse: isInUse, log: log)
        }
    }

    func stop() { reader.stop() }

    /// Returns the lags, or nil while the cluster does not answer.
    func lags() async -> [TopicLag]? {
        await withCheckedContinuation { continuation in
            let isAccepted = reader.execute { continuation.resume(returning: $0.currentLags()) }
            if !isAccepted { continuation.resume(returning: nil) }
        }
    }
}

/// Reads the lags on the monitor's thread, and keeps the last answer for a second.
private final class ConsumerLagReader {
    private typealias TopicLag = ConsumerLagMonitor.TopicLag

    private static let cacheMilliseconds = 1000

    private let settings: KafkaSettings
    private let prefix: String
    private let isInUse: (String) -> Bool
    private let log: Log
    // The two clients. They are nil before the first read and after a failure.
    private var admin: AdminClient?
    private var unreadReader: UnreadRecordReader?
    private var cached: (lags: [TopicLag], at: Instant)?

    init(_ settings: KafkaSettings, prefix: String, isInUse: @escaping (String) -> Bool, log: Log) {
        self.settings = settings
        self.prefix = prefix
        self.isInUse = isInUse
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
        let unreadReader = try unreadReader ?? UnreadRecordReader(settings: settings, log: log)
        self.unreadReader = unreadReader
        let names = try admin.groupNames().filter {
            $0.hasPrefix(prefix) && isInUse(String($0.dropFirst(prefix.count)))
        }
        let groups = try names.sorted().map { group in
            (group: group, lags: try admin.lagOfConsumedPartitions(by: group, among: partitions))
        }
        let unread = try unreadReader.readOldest(of: groups.flatMap(\.lags))
        return groups.flatMap { group, groupLags -> [TopicLag] in
            let lagsByTopic = Dictionary(grouping: groupLags) { $0.committed.partition.topic }
            return lagsByTopic.sorted { $0.key < $1.key }.map { topic, lags in
                topicLag(of: group, in: topic, lags: lags, unread: unread)
            }
        }
    }

    private func topicLag(
        of group: String, in topic: String, lags: [GroupLag], unread: UnreadRecordReader.UnreadRecords
    ) -> TopicLag {
        // A group that lacks only the markers of transactions has read all records.
        let behind = lags.filter { !unread.caughtUp.contains(UnreadRecordReader.GroupPosition(of: $0)) }
        return TopicLag(
            stage: String(group.dropFirst(prefix.count)), topic: String(topic.dropFirst(prefix.count)),
            records: behind.reduce(0) { $0 + Int64($1.recordCount) }, partitions: lags.count,
            oldestAt: behind.compactMap { unread.oldest[UnreadRecordReader.GroupPosition(of: $0)] }.min())
    }
}
