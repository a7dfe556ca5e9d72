/// The names and partition counts of one installation's topics. All processes of an installation must have
/// the same layout, because a record's lane follows from the number of lanes.
package struct TopicLayout: Sendable, Hashable {
    package static let prefixDefault = "flotilla."
    package static let lanesDefault = 12
    package static let lanesMax = 1000
    /// Kafka's limit for a topic name, less the longest name that follows the prefix.
    package static let prefixBytesMax = 200

    /// The time for which a compacted topic keeps deletions. A view that was away for longer is rebuilt.
    package static let deleteRetentionMilliseconds: Int64 = 86_400_000

    package let prefix: String
    /// The number of partitions of every topic that is partitioned by recipient, installation or group. It is
    /// fixed once the topics are created.
    package let lanes: Int
    /// The number of replicas of each partition. The embedded broker has one.
    package let replication: Int

    package init(
        prefix: String = TopicLayout.prefixDefault, lanes: Int = TopicLayout.lanesDefault,
        replication: Int = 1
    ) {
        precondition(Self.problem(withPrefix: prefix) == nil && lanes > 0, "the settings were checked")
        self.prefix = prefix
        self.lanes = lanes
        self.replication = replication
    }

    /// Returns the topic's name in the cluster.
    package func name(of topic: TopicName) -> String { prefix + topic.rawValue }

    package func partitions(of topic: TopicName) -> Int { requirements(of: topic).partitions }

    /// Returns the lifetime of a row after its record's time, in the view of a topic that compacts and
    /// deletes. Returns nil if rows live until they are deleted. A view drops expired rows even if the
    /// cluster keeps the records longer. So an old view and a rebuilt view have the same content.
    package func rowLifetimeMilliseconds(in topic: TopicName) -> Int64? {
        if case .compactAndDelete(let time) = requirements(of: topic).cleanup { time } else { nil }
    }

    /// Returns the problem with a prefix, worded to follow the setting's key, or nil.
    package static func problem(withPrefix: String) -> String? {
        let allowed = withPrefix.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2E || byte == 0x5F || byte == 0x2D
        }
        return allowed && withPrefix.utf8.count <= prefixBytesMax
            ? nil : "must be at most \(prefixBytesMax) letters, digits, dots, underscores and dashes"
    }
}
