internal import Glibc
package import Kafka

/// A topic that the cluster did not create.
package struct TopicNotCreated: Error, CustomStringConvertible {
    package let topic: String
    package let text: String
    /// The cluster has fewer brokers than copies were asked for.
    let lacksBrokers: Bool

    package var description: String {
        let remedy =
            lacksBrokers
            ? "set topics.replication to at most the number of brokers"
            : "grant this user the right to create topics, or create it by hand"
        return "cannot create topic \(topic): \(text); \(remedy)"
    }
}

extension TopicLayout {
    /// A cluster tells its brokers about a new topic one by one.
    private static let settleMilliseconds = 10_000
    private static let invalidReplicationFactor = ErrorCode(rawValue: 38)

    /// Creates those that are missing, and returns their names once the cluster shows them. What is
    /// there already stays as it is: `check` says whether it fits.
    @discardableResult
    package func create(_ topics: [TopicName] = TopicName.allCases, on admin: Admin) throws -> [String] {
        let known = Set(try admin.topics(withinMilliseconds: Self.askMilliseconds).map(\.name))
        let missing = topics.filter { !known.contains(name($0)) }
        if missing.isEmpty { return [] }
        let outcomes = try admin.create(
            missing.map { topic in
                let need = need(of: topic)
                return NewTopic(
                    name(topic), partitions: need.partitions, replication: replication,
                    configuration: need.configuration(replication: replication))
            })
        for outcome in outcomes where outcome.code != .none && outcome.code != .topicExists {
            throw TopicNotCreated(
                topic: outcome.name, text: outcome.text,
                lacksBrokers: outcome.code == Self.invalidReplicationFactor)
        }
        try waitUntilShown(missing, by: admin)
        return outcomes.filter { $0.code == .none }.map(\.name)
    }

    private func waitUntilShown(_ topics: [TopicName], by admin: Admin) throws {
        let stepMilliseconds = 20
        for _ in 0..<Self.settleMilliseconds / stepMilliseconds {
            let shown = Set(
                try admin.topics(withinMilliseconds: Self.askMilliseconds).filter { !$0.partitions.isEmpty }
                    .map(\.name))
            if topics.allSatisfy({ shown.contains(name($0)) }) { return }
            usleep(UInt32(stepMilliseconds) * 1000)
        }
    }
}
