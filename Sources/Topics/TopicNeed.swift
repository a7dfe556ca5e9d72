/// What the stages need of one topic. More is allowed where more does no harm: longer retention,
/// larger records.
struct TopicNeed: Sendable, Hashable {
    enum Cleanup: Sendable, Hashable {
        /// Records go when they are this old.
        case delete(afterMilliseconds: Int64)
        /// The newest record of each key stays.
        case compact
        /// The newest record of each key stays, until it is this old.
        case compactAndDelete(afterMilliseconds: Int64)

        /// As Kafka writes it, parts in order.
        var policy: String {
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

    /// A compacted topic's newest segment is closed after this time, so that it can be compacted and
    /// a restore reads little that is out of date.
    static let compactedSegmentMilliseconds: Int64 = 86_400_000

    let partitions: Int
    let cleanup: Cleanup
    /// Nil: the cluster's default is enough.
    var recordBytesMax: Int?

    /// The cluster's clock stamps the records of every topic that is kept for a time, not the writer's:
    /// what a process with a wrong clock writes must not be old before it is read.
    var isStampedByCluster: Bool { cleanup.retentionMilliseconds != nil }

    /// What the topic is created with.
    func configuration(replication: Int) -> [String: String] {
        var all = ["cleanup.policy": cleanup.policy]
        if let time = cleanup.retentionMilliseconds { all["retention.ms"] = String(time) }
        if cleanup.isCompacting {
            all["delete.retention.ms"] = String(TopicLayout.deleteRetentionMilliseconds)
            all["segment.ms"] = String(Self.compactedSegmentMilliseconds)
        }
        if let recordBytesMax { all["max.message.bytes"] = String(recordBytesMax) }
        if isStampedByCluster { all["message.timestamp.type"] = "LogAppendTime" }
        // An acknowledgement by all in-sync replicas is worth little when one replica can be all.
        if replication > 1 { all["min.insync.replicas"] = String(replication - 1) }
        return all
    }
}
