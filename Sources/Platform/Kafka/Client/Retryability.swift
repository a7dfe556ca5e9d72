internal import Glibc
internal import Lifecycle

extension KafkaErrorCode {
    /// Whether and how soon an error can pass without a person.
    package enum Retryability: Sendable, Equatable {
        /// Waiting does not help.
        case never
        /// A new topic is not known on all brokers yet. A topic that is still unknown after
        /// `settleMilliseconds` does not exist.
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
            .waitCoordinator,
            .waitCache, .resolve:
            .always
        default: .never
        }
    }
}

/// A retry policy for questions that a cluster cannot answer yet.
struct RetryPolicy {
    /// The pause between two attempts.
    static let pauseMicroseconds: UInt32 = 20_000

    private let startedAt = Instant.now()
    private let deadline: Deadline
    private var reportedError: KafkaError?

    init(until deadline: Deadline) { self.deadline = deadline }

    /// Repeats a call until it succeeds, fails permanently, or the time is over.
    static func retry<Answer>(
        until deadline: Deadline, call: () throws(KafkaError) -> Answer
    ) throws(KafkaError) -> Answer {
        var patience = RetryPolicy(until: deadline)
        while true {
            do {
                return try call()
            } catch {
                try patience.waitForNextAttempt(after: error)
            }
        }
    }

    /// Returns when it is time for the next attempt.
    private mutating func waitForNextAttempt(after error: KafkaError) throws(KafkaError) {
        // A timeout says less than an earlier error of the cluster, so the earlier error is kept.
        if error.code != .timedOut || reportedError == nil { reportedError = error }
        guard isRetryable(error.code, at: .now()), deadline.millisecondsLeft > 0 else {
            throw reportedError ?? error
        }
        pause(microseconds: Self.pauseMicroseconds)
    }

    private func isRetryable(_ code: KafkaErrorCode, at now: Instant) -> Bool {
        switch code.retryability {
        case .never: false
        case .untilTopicSettles: now.milliseconds(since: startedAt) < KafkaErrorCode.topicSettleMilliseconds
        case .always: true
        }
    }
}

func pause(microseconds: UInt32) { usleep(microseconds) }
