package import Lifecycle

/// What a poll brings besides records.
package enum ConsumerEvent: Sendable, Equatable {
    /// The group offers partitions. Answer with `assign`, choosing where each begins.
    case offered([TopicPartition])
    /// The group wants the partitions back: finish or drop what is in hand, commit, and answer with
    /// `release` before the deadline. No records come until then.
    case revoked([TopicPartition], by: Instant)
    /// The partitions are another's already: commit nothing, drop what is in hand, and `release`.
    case lost([TopicPartition])
    /// The process was stopped for so long that the partitions may be another's by now. A commit,
    /// of the same offsets as before if need be, shows whether they are; `isSurelyOurs` is false until then.
    case suspended(milliseconds: Int)
    /// Everything below `offset` has been handed over; it is the end as it was then.
    case end(TopicPartition, offset: Int64)
    /// What became of an asynchronous commit.
    case committed([TopicPartition], CommitOutcome)
    /// Kafka answered a question, or a part of it.
    case answered(QuestionID, KafkaAnswer)
    case failed(ConsumerFailure)
}

/// Why a consumer does not go on by itself.
package enum ConsumerFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The records from here on are gone and reading has stopped: a person decides where to continue.
    case outOfRange(TopicPartition, text: String)
    /// A partition cannot be read. The client keeps trying.
    case partition(TopicPartition, KafkaError)
    /// The client keeps trying.
    case client(KafkaError)
    /// This consumer without a group is at its end; make another one. A member of a group makes a new client by itself.
    case rebuild(KafkaError)

    package var description: String {
        switch self {
        case .outOfRange(let partition, let text):
            "cannot read \(partition): \(text); \(ErrorCode.offsetOutOfRange.remedy)"
        case .partition(_, let error), .client(let error), .rebuild(let error):
            error.description
        }
    }
}
