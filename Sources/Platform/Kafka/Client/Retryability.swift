extension KafkaErrorCode {
    /// Whether an error can pass without the work of a person, and how long it makes sense to wait for that.
    package enum Retryability: Sendable, Equatable {
        /// Waiting does not help.
        case never
        /// A new topic is not known on all brokers yet. A topic that is still unknown after
        /// `topicSettleMilliseconds` does not exist.
        case untilTopicSettles
        /// Leaders and coordinators move, load and start. Connections come back.
        case always
    }

    /// The time to wait for a new topic. Apache Kafka needs some 20 ms to make it known, a slow cluster more.
    package static let topicSettleMilliseconds = 2000

    package var retryability: Retryability {
        switch self {
        case .unknownTopicOrPartition, .unknownTopic, .unknownPartition, .unknownTopicID: .untilTopicSettles
        case .leaderNotAvailable, .notLeader, .requestTimedOut, .replicaNotAvailable, .networkException,
            .coordinatorLoading, .coordinatorNotAvailable, .notCoordinator, .notEnoughReplicas,
            .notEnoughReplicasAfterAppend, .notController, .concurrentTransactions, .storage,
            .listenerNotFound, .fencedLeaderEpoch, .unknownLeaderEpoch, .offsetNotAvailable, .unstableOffset,
            .unknownServerError, .transport, .allBrokersDown, .timedOut, .timedOutInQueue, .messageTimedOut,
            .waitCoordinator, .waitCache, .resolve:
            .always
        default: .never
        }
    }
}
