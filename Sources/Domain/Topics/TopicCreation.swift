package import Kafka
internal import Lifecycle

/// A topic that the cluster did not create.
package struct TopicNotCreated: Error, CustomStringConvertible {
    package let topic: String
    package let text: String
    /// Whether the cluster has fewer brokers than the requested replicas.
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
    /// The limit until new topics must be usable, long enough for a cluster that has just started.
    private static let usableMillisecondsMax = 30_000
    private static let invalidReplicationFactor = KafkaErrorCode(rawValue: 38)

    /// Creates missing topics and returns their names once all of `topics` are usable. Kafka answers before
    /// its brokers know a new topic and lead its partitions. Existing topics stay unchanged: `check` decides
    /// whether they fit.
    @discardableResult
    package func create(_ topics: [TopicName] = TopicName.allCases, on admin: AdminClient) throws -> [String]
    {
        let limit = Instant.now().advanced(byMilliseconds: Self.usableMillisecondsMax)
        var created: [String] = []
        while true {
            created += try createMissing(topics, on: admin)
            do throws(KafkaError) {
                try admin.waitForLeaders(
                    of: topics.map(name), withinMilliseconds: max(1, limit.milliseconds(since: .now())))
                return topics.map(name).filter(created.contains)
            } catch {
                // A topic that was still being deleted during the look-up is gone now, and the next iteration
                // creates it.
                guard error.code.retryability == .untilTopicSettles, Instant.now() < limit else {
                    throw error
                }
            }
        }
    }

    /// Creates missing topics and returns the names of the created ones.
    private func createMissing(_ topics: [TopicName], on admin: AdminClient) throws -> [String] {
        let known = Set(try admin.topics(withinMilliseconds: Self.requestMilliseconds).map(\.name))
        let missing = topics.filter { !known.contains(name(of: $0)) }
        if missing.isEmpty { return [] }
        let outcomes = try admin.create(
            missing.map { topic in
                let need = requirements(of: topic)
                return NewTopic(
                    name: name(of: topic), partitionCount: need.partitions, replicationFactor: replication,
                    configuration: need.configuration(replication: replication))
            })
        for outcome in outcomes
        where outcome.code != .none && outcome.code != .topicExists && outcome.code.retryability != .always {
            throw TopicNotCreated(
                topic: outcome.name, text: outcome.text,
                lacksBrokers: outcome.code == Self.invalidReplicationFactor)
        }
        return outcomes.filter { $0.code == .none }.map(\.name)
    }
}
