/// The settings of an operator that decide the names and partitions of Flotilla's topics in a cluster. All
/// processes must have the same layout, because a record's lane (its partition) follows from its key and the
/// number of lanes.
package struct TopicLayout: Sendable, Hashable {
    package static let prefixDefault = "flotilla."
    package static let lanesDefault = 12
    package static let lanesMax = 1000
    /// Kafka's limit on the name of a topic is 249 bytes. The rest is for the name behind the prefix.
    package static let prefixBytesMax = 200

    /// The time for which a compacted topic keeps deletions. A table that lags by more is built again from the
    /// topic, because it may have missed one.
    package static let deleteRetentionMilliseconds: Int64 = 86_400_000

    package let prefix: String
    /// The number of partitions of every topic that has more than one. It is fixed once the topics are
    /// created.
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

    package func partitionCount(of topic: TopicName) -> Int { requirements(of: topic).partitions }

    /// Returns the problem with a prefix, to be appended to the setting's key, or nil for a valid prefix.
    package static func problem(withPrefix prefix: String) -> String? {
        let isValid = prefix.utf8.count <= prefixBytesMax && prefix.utf8.allSatisfy(isAllowed)
        return isValid
            ? nil : "must be at most \(prefixBytesMax) letters, digits, dots, underscores and dashes"
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
