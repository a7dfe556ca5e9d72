/// The requirements of the stages for one topic. Larger values are allowed if they do no harm: longer
/// retention, larger records.
struct TopicRequirements: Sendable, Hashable {
    enum CleanupPolicy: Sendable, Hashable {
        /// Records are deleted at this age.
        case delete(afterMilliseconds: Int64)
        /// The newest record of each key is kept.
        case compact
        /// The newest record of each key is kept, up to this age.
        case compactAndDelete(afterMilliseconds: Int64)

        /// The policy in Kafka's form, with sorted parts.
        var kafkaValue: String {
            switch self {
            case .delete: "delete"
            case .compact: "compact"
            case .compactAndDelete: "compact,delete"
            }
        }

        var isCompacting: Bool {
            if case .delete = self { false } else { true }
        }

        var retentionMilliseconds: Int64? {
            switch self {
            case .delete(let time), .compactAndDelete(let time): time
            case .compact: nil
            }
        }
    }

    /// The time after which the newest segment of a compacted topic is closed. Then it can be compacted, and
    /// a restore reads few outdated records.
    static let compactedSegmentMilliseconds: Int64 = 86_400_000

    let partitions: Int
    let cleanup: CleanupPolicy
    /// Nil if the cluster's default is enough.
    var recordBytesMax: Int?

    /// Whether the cluster stamps the records, and not the writer. This holds for every topic with a
    /// retention time. A record from a process with a wrong clock must not expire before it is read.
    var isStampedByCluster: Bool { cleanup.retentionMilliseconds != nil }

    /// Returns the settings with which the topic is created.
    func configuration(replication: Int) -> [String: String] {
        var all = ["cleanup.policy": cleanup.kafkaValue]
        if let time = cleanup.retentionMilliseconds { all["retention.ms"] = String(time) }
        if cleanup.isCompacting {
            all["delete.retention.ms"] = String(TopicLayout.deleteRetentionMilliseconds)
            all["segment.ms"] = String(Self.compactedSegmentMilliseconds)
        }
        if let recordBytesMax { all["max.message.bytes"] = String(recordBytesMax) }
        if isStampedByCluster { all["message.timestamp.type"] = "LogAppendTime" }
        // If one replica is enough for "all in-sync replicas", an acknowledgement is worth little.
        if replication > 1 { all["min.insync.replicas"] = String(replication - 1) }
        return all
    }
}
