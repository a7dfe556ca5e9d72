package import Kafka
internal import Lifecycle

// The creation of missing topics.

/// The error that the cluster refused to create a topic.
package struct TopicNotCreated: Error, CustomStringConvertible {
    package let topic: String
    /// Kafka's reason.
    package let text: String
    /// Whether the cluster has fewer brokers than the requested replicas.
    package let lacksBrokers: Bool

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
    /// Kafka's error INVALID_REPLICATION_FACTOR.
    private static let invalidReplicationFactor = KafkaErrorCode(rawValue: 38)

    /// Creates the missing ones of `topics`. Returns their names once all of `topics` are usable, because
    /// Kafka answers before its brokers know a new topic and lead its partitions. Existing topics stay
    /// unchanged: `check` decides whether they fit.
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
                // A topic that was still being deleted when the missing topics were listed is gone now. The
                // next iteration creates it.
                guard error.code.retryability == .untilTopicSettles, Instant.now() < limit else {
                    throw error
                }
            }
        }
    }

    /// Creates missing topics and returns the names of the created ones.
    ///
    /// It asks to create every topic, because a broker may still list a topic that was deleted a moment ago. Only the
    /// controller knows. If it refuses a listed topic, the topic exists.
    private func createMissing(_ topics: [TopicName], on admin: AdminClient) throws -> [String] {
        let listedNames = Set(try admin.topics(withinMilliseconds: Self.requestMilliseconds).map(\.name))
        let outcomes = try admin.createTopics(
            topics.map { topic in
                let required = requirements(of: topic)
                return NewTopic(
                    name: name(of: topic), partitionCount: required.partitions,
                    replicationFactor: replication,
                    configuration: required.configuration(replication: replication))
            })
        for outcome in outcomes {
            // Another process may have created the topic.
            let exists = outcome.code == .topicExists || listedNames.contains(outcome.name)
            // After such an error the caller tries again.
            let isTemporary = outcome.code.retryability == .always
            if outcome.code == .none || exists || isTemporary { continue }
            throw TopicNotCreated(
                topic: outcome.name, text: outcome.text,
                lacksBrokers: outcome.code == Self.invalidReplicationFactor)
        }
        return outcomes.filter { $0.code == .none }.map(\.name)
    }
}
