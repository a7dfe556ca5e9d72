internal import Glibc
internal import Lifecycle

extension ErrorCode {
    /// Whether a failure passes without a person.
    package enum Healing: Sendable, Equatable {
        /// Waiting changes nothing.
        case never
        /// A topic that was just made is not known everywhere; one that is still unknown after
        /// `settleMilliseconds` is not there.
        case soon
        /// Leaders and coordinators move, load and start; connections come back.
        case inTime
    }

    /// Apache Kafka needs some 20 ms to make a new topic known, and a slow cluster more.
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

/// Asks a cluster again for what it cannot answer yet.
struct Patience {
    /// Between two tries.
    static let pauseMicroseconds: UInt32 = 20_000

    private let begun = Instant.now()
    private let deadline: Deadline
    private var told: KafkaError?

    init(until deadline: Deadline) { self.deadline = deadline }

    /// Repeats a call until it succeeds or fails for good, or the time is over.
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

    /// Returns when it is time for the next try.
    private mutating func bear(_ error: KafkaError) throws(KafkaError) {
        // That the time was over says less than what the cluster had said before.
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
