/// How one installation names and cuts its topics. Every process of the installation must be told the
/// same, because a record's lane follows from the number of lanes.
package struct TopicLayout: Sendable, Hashable {
    package static let prefixDefault = "flotilla."
    package static let lanesDefault = 12
    package static let lanesMax = 1000
    /// What Kafka allows for a whole name, less the longest name behind the prefix.
    package static let prefixBytesMax = 200

    /// For how long a compacted topic remembers deletions: a view that was away longer is rebuilt.
    package static let deleteRetentionMilliseconds: Int64 = 86_400_000

    package let prefix: String
    /// Partitions of every topic that is cut by recipient, installation or group; fixed once created.
    package let lanes: Int
    /// Copies of each partition; one on the embedded broker.
    package let replication: Int

    package init(
        prefix: String = TopicLayout.prefixDefault, lanes: Int = TopicLayout.lanesDefault,
        replication: Int = 1
    ) {
        precondition(Self.problem(prefix: prefix) == nil && lanes > 0, "the settings were checked")
        self.prefix = prefix
        self.lanes = lanes
        self.replication = replication
    }

    /// The topic's name in the cluster.
    package func name(_ topic: TopicName) -> String { prefix + topic.rawValue }

    package func partitions(_ topic: TopicName) -> Int { need(of: topic).partitions }

    /// How long a row counts after its record's time, in the view of a topic that compacts and deletes;
    /// nil where it counts until it is deleted. A view lets a row go then, also where the cluster keeps the
    /// topic longer: so a view that was read long ago and one that is built anew say the same.
    package func rowMillisecondsMax(in topic: TopicName) -> Int64? {
        if case .compactAndDelete(let time) = need(of: topic).cleanup { time } else { nil }
    }

    /// What is wrong with a prefix, as it goes on after the setting's key; nil when nothing is.
    package static func problem(prefix: String) -> String? {
        let allowed = prefix.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2E || byte == 0x5F || byte == 0x2D
        }
        return allowed && prefix.utf8.count <= prefixBytesMax
            ? nil : "must be at most \(prefixBytesMax) letters, digits, dots, underscores and dashes"
    }
}
