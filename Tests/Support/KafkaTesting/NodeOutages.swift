package import Broker
package import Lifecycle

/// A cluster of several nodes, imitated by the embedded broker, whose nodes a test kills and starts again.
///
/// Nodes are numbered from 0. Each leads some partitions, groups and transactional ids. If it dies, requests for these
/// are refused until the cluster has noticed the death and another node leads them. The node leads them again when it
/// is back.
package final class NodeOutages: ClusterDelays {
    private struct Outage {
        let node: Int
        /// The time from which another node leads.
        let movedAt: Instant
    }

    package let nodeCount: Int
    /// The time from a death until other nodes lead. Apache Kafka needs 9 s by default.
    private let failoverMilliseconds: Int
    private let outages = TracedLock<[Outage]>([])

    package init(nodeCount: Int = 3, failoverMilliseconds: Int = 9000) {
        self.nodeCount = nodeCount
        self.failoverMilliseconds = failoverMilliseconds
    }

    package func kill(node: Int) {
        let movedAt = Instant.now().advanced(byMilliseconds: failoverMilliseconds)
        outages.withLock { $0.append(Outage(node: node, movedAt: movedAt)) }
    }

    package func start(node: Int) { outages.withLock { $0.removeAll { $0.node == node } } }

    // MARK: No other delays

    package func topicWasCreated(_ topic: String, at now: Instant) {}
    package func deletionDelayMilliseconds(ofTopic topic: String, at now: Instant) -> Int { 0 }
    package func visibility(of topic: String, at now: Instant) -> TopicVisibility { .whole }
    package func refusal(ofAppendTo topic: String, partition: Int32, at now: Instant) -> ErrorCode? { nil }

    // MARK: Refusals of nodes that are away

    package func refusal(byLeaderOf topic: String, partition: Int32, at now: Instant) -> ErrorCode? {
        isLeaderAway(of: "\(topic)/\(partition)", at: now) ? .notLeaderOrFollower : nil
    }

    package func refusal(by call: CoordinatorCall, at now: Instant) -> ErrorCode? {
        switch call {
        // This call has no id, so its coordinator is unknown. If that one is away, it refuses the next request of the
        // client.
        case .findGroup, .findTransaction: nil
        case .group(let id), .join(let id, _): isLeaderAway(of: id, at: now) ? .notCoordinator : nil
        case .transaction(let id), .end(let id): isLeaderAway(of: id, at: now) ? .notCoordinator : nil
        }
    }

    private func isLeaderAway(of name: String, at now: Instant) -> Bool {
        let outages = outages.withLock { $0 }
        if outages.isEmpty { return false }
        // A hash without a random seed, so that a name has the same leader in every run.
        let hash = name.utf8.reduce(UInt64(0)) { SplitMix64.number(forState: $0 ^ UInt64($1)) }
        let leader = Int(hash % UInt64(nodeCount))
        return outages.contains { $0.node == leader && now < $0.movedAt }
    }
}
