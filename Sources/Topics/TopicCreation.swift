package import Kafka
internal import Lifecycle

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
    /// How long new topics may take until they can be used, on a cluster that has just started itself.
    private static let settleMilliseconds = 30_000
    private static let invalidReplicationFactor = ErrorCode(rawValue: 38)

    /// Creates those that are missing, and returns their names once all of `topics` can be used: Kafka
    /// answers before its brokers know a new topic and lead its partitions. What is there already stays as
    /// it is: `check` says whether it fits.
    @discardableResult
    package func create(_ topics: [TopicName] = TopicName.allCases, on admin: Admin) throws -> [String] {
        let limit = Instant.now().advanced(byMilliseconds: Self.settleMilliseconds)
        var created: [String] = []
        while true {
            created += try createMissing(topics, on: admin)
            do throws(KafkaError) {
                try admin.waitUntilUsable(
                    topics.map(name), withinMilliseconds: max(1, limit.milliseconds(since: .now())))
                return topics.map(name).filter(created.contains)
            } catch {
                // One that was being deleted when it was looked for is gone now, and is made anew.
                guard error.code.healing == .soon, Instant.now() < limit else { throw error }
            }
        }
    }

    /// The names of those that did not exist.
    private func createMissing(_ topics: [TopicName], on admin: Admin) throws -> [String] {
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
        for outcome in outcomes
        where outcome.code != .none && outcome.code != .topicExists && outcome.code.healing != .inTime {
            throw TopicNotCreated(
                topic: outcome.name, text: outcome.text,
                lacksBrokers: outcome.code == Self.invalidReplicationFactor)
        }
        return outcomes.filter { $0.code == .none }.map(\.name)
    }
}
