package import Broker
package import Lifecycle

/// Partitions of an embedded broker that take no records and no transaction markers, from `refuse` until `acceptAll`.
/// They are like partitions with fewer replicas than `min.insync.replicas`, or without a leader.
package final class UnavailablePartitions: ClusterDelays {
    private struct Partition: Hashable {
        let topic: String
        let number: Int32
    }

    private let partitions = TracedLock<[Partition: ErrorCode]>([:])

    package init() {}

    /// Refuses records from now on, with NOT_ENOUGH_REPLICAS, or with NOT_LEADER_OR_FOLLOWER if there is no leader.
    package func refuse(_ topic: String, partition: Int32, hasLeader: Bool = true) {
        partitions.withLock {
            $0[Partition(topic: topic, number: partition)] =
                hasLeader ? .notEnoughReplicas : .notLeaderOrFollower
        }
    }

    /// Takes records in all partitions again.
    package func acceptAll() { partitions.withLock { $0 = [:] } }

    package func topicWasCreated(_ topic: String, at now: Instant) {}
    package func deletionDelayMilliseconds(ofTopic topic: String, at now: Instant) -> Int { 0 }
    package func visibility(of topic: String, at now: Instant) -> TopicVisibility { .whole }
    package func refusal(by coordinator: CoordinatorCall, at now: Instant) -> ErrorCode? { nil }

    package func refusal(byLeaderOf topic: String, partition: Int32, at now: Instant) -> ErrorCode? {
        refusal(of: topic, partition: partition, ifItIs: .notLeaderOrFollower)
    }

    package func refusal(ofAppendTo topic: String, partition: Int32, at now: Instant) -> ErrorCode? {
        refusal(of: topic, partition: partition, ifItIs: .notEnoughReplicas)
    }

    /// Returns the error of a partition if it is the expected one. Leaders and appends have different errors.
    private func refusal(of topic: String, partition: Int32, ifItIs expected: ErrorCode) -> ErrorCode? {
        let error = partitions.withLock { $0[Partition(topic: topic, number: partition)] }
        return error == expected ? expected : nil
    }
}
