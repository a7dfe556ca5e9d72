package import Lifecycle

/// An event that a poll returns besides records.
package enum ConsumerEvent: Sendable, Equatable {
    /// The group offers partitions. Answer with `assign`, which names the start of each, or with
    /// `assignPaused`.
    case offered([TopicPartition])
    /// The group revokes the partitions. Finish or drop current work, commit, and answer with `release`
    /// before the deadline. No records come until then.
    case revoked([TopicPartition], by: Instant)
    /// The partitions already belong to another member. Commit nothing, drop current work, and call
    /// `release`.
    case lost([TopicPartition])
    /// The process was suspended for so long that the partitions may be reassigned. A commit shows whether they
    /// are; it may repeat the same offsets. `isAssignmentCertain` is false until then.
    case suspended(milliseconds: Int)
    /// All records below `offset` have been delivered. It was the end of the partition at that time.
    case reachedEnd(TopicPartition, offset: Int64)
    /// The outcome of an asynchronous commit.
    case committed([TopicPartition], CommitOutcome)
    /// A query has a result, or a part of its result.
    case queryCompleted(OffsetQueryID, OffsetQueryResult)
    case failed(ConsumerFailure)
}

/// A failure that a consumer reports.
package enum ConsumerFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The records from here on are deleted and reading has stopped. A person must decide where to continue.
    case outOfRange(TopicPartition, text: String)
    /// A partition cannot be read. The client keeps trying.
    case partition(TopicPartition, KafkaError)
    /// The client has a failure and keeps trying.
    case client(KafkaError)
    /// This consumer without a group is unusable; make another one. A group member makes a new client by
    /// itself.
    case unusable(KafkaError)

    package var description: String {
        switch self {
        case .outOfRange(let partition, let text):
            "cannot read \(partition): \(text); \(KafkaErrorCode.offsetOutOfRange.remedy)"
        case .partition(_, let error), .client(let error), .unusable(let error):
            error.description
        }
    }
}
