/// The partitions and settings that the stages need for one topic. A topic may have a longer retention and
/// larger records, because they do no harm.
struct TopicRequirements: Sendable, Hashable {
    enum CleanupPolicy: Sendable, Hashable {
        /// Records are deleted at this age.
        case delete(afterMilliseconds: Int64)
        /// The newest record of each key is kept.
        case compact
        /// The newest record of each key is kept, up to this age.
        case compactAndDelete(afterMilliseconds: Int64)

        /// The value of Kafka's `cleanup.policy`, with sorted parts.
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

        /// The age at which records are deleted, or nil if they are not.
        var retentionMilliseconds: Int64? {
            switch self {
            case .delete(let age), .compactAndDelete(let age): age
            case .compact: nil
            }
        }
    }

    /// The time after which the newest segment of a compacted topic is closed: one day. Only a closed segment is
    /// compacted, so a restore then reads few outdated records.
    static let compactedSegmentMilliseconds: Int64 = 86_400_000
    /// The time after which a compacted topic has deleted the earlier records of a key: seven days. Without it, a
    /// quiet partition keeps the records of an erased user for ever.
    static let compactionLagMilliseconds: Int64 = 7 * 86_400_000
    /// The value of `message.timestamp.type` with which the cluster stamps the records.
    static let clusterTimestamps = "LogAppendTime"

    let partitions: Int
    let cleanup: CleanupPolicy
    /// The size that records may have. Nil if the cluster's default is enough.
    var recordBytesMax: Int?

    /// Whether the cluster stamps the records, and not the writer. This holds for every topic with a
    /// retention time. A record from a process with a wrong clock must not expire before it is read.
    var isStampedByCluster: Bool { cleanup.retentionMilliseconds != nil }

    /// Returns the settings with which the topic is created.
    ///
    /// - Parameter replication: The number of replicas of each partition.
    func configuration(replication: Int) -> [String: String] {
        var settings = ["cleanup.policy": cleanup.kafkaValue]
        if let retentionMilliseconds = cleanup.retentionMilliseconds {
            settings["retention.ms"] = String(retentionMilliseconds)
        }
        if cleanup.isCompacting {
            settings["delete.retention.ms"] = String(TopicLayout.deleteRetentionMilliseconds)
            settings["segment.ms"] = String(Self.compactedSegmentMilliseconds)
            settings["max.compaction.lag.ms"] = String(Self.compactionLagMilliseconds)
        }
        if let recordBytesMax { settings["max.message.bytes"] = String(recordBytesMax) }
        if isStampedByCluster { settings["message.timestamp.type"] = Self.clusterTimestamps }
        // A record is acknowledged when this many replicas have it. One broker may be away, but no more: with
        // fewer replicas, a failure could lose an acknowledged record.
        if replication > 1 { settings["min.insync.replicas"] = String(replication - 1) }
        return settings
    }
}
