internal import Glibc
internal import Lifecycle

extension ErrorCode {
    /// Whether and how soon an error can pass without a person.
    package enum Healing: Sendable, Equatable {
        /// Waiting does not help.
        case never
        /// A new topic is not known on all brokers yet. A topic that is still unknown after
        /// `settleMilliseconds` does not exist.
        case soon
        /// Leaders and coordinators move, load and start. Connections come back.
        case inTime
    }

    /// The time to wait for a new topic. Apache Kafka needs some 20 ms to make it known, a slow cluster more.
    package static let settleMilliseconds = 2000

    package var healing: Healing {
        switch self {
        case .unknownTopicOrPartition, .unknownTopic, .unknownPartition, .unknownTopicID: .soon
        case .leaderNotAvailable, .notLeader, .requestTimedOut, .replicaNotAvailable, .networkException,
            .coordinatorLoading, .coordinatorNotAvailable, .notCoordinator, .notEnoughReplicas,
            .notEnoughReplicasAfterAppend, .notController, .concurrentTransactions, .storage,
            .listenerNotFound, .fencedLeaderEpoch, .unknownLeaderEpoch, .offsetNotAvailable, .unstableOffset,
            .unknownServerError, .transport, .allBrokersDown, .timedOut, .timedOutInQueue, .messageTimedOut,
            .waitCoordinator,
            .waitCache, .resolve:
            .inTime
        default: .never
        }
    }
}

/// A retry policy for questions that a cluster cannot answer yet.
struct Patience {
    /// The pause between two attempts.
    static let pauseMicroseconds: UInt32 = 20_000

    private let begun = Instant.now()
    private let deadline: Deadline
    private var told: KafkaError?

    init(until deadline: Deadline) { self.deadline = deadline }

    /// Repeats a call until it succeeds, fails permanently, or the time is over.
    static func ask<Answer>(
        until deadline: Deadline, _ call: () throws(KafkaError) -> Answer
    ) throws(KafkaError) -> Answer {
        var patience = Patience(until: deadline)
        while true {
            do {
                return try call()
            } catch {
                try patience.bear(error)
            }
        }
    }

    /// Returns when it is time for the next attempt.
    private mutating func bear(_ error: KafkaError) throws(KafkaError) {
        // A timeout says less than an earlier error of the cluster, so the earlier error is kept.
        if error.code != .timedOut || told == nil { told = error }
        guard mayHeal(error.code, at: .now()), deadline.millisecondsLeft > 0 else { throw told ?? error }
        pause(microseconds: Self.pauseMicroseconds)
    }

    private func mayHeal(_ code: ErrorCode, at now: Instant) -> Bool {
        switch code.healing {
        case .never: false
        case .soon: now.milliseconds(since: begun) < ErrorCode.settleMilliseconds
        case .inTime: true
        }
    }
}

func pause(microseconds: UInt32) { usleep(microseconds) }
