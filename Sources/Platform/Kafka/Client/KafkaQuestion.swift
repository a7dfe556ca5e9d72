/// A question to Kafka that a loop asks without waiting for the answer.
package enum KafkaQuestion: Hashable, Sendable {
    /// The offsets that the consumer's group has committed.
    case committed([TopicPartition])
    /// The first offset and the end of each partition, as a reader of committed records sees them.
    case ends([TopicPartition])
    /// The first record at or after a time, in milliseconds since 1970.
    case records(sinceMilliseconds: Int64, [TopicPartition])
}

/// The number of a question. Its answers carry it, so that a late answer is not taken for the answer to a newer question.
package struct QuestionID: Hashable, Sendable {
    fileprivate let number: UInt64
}

extension QuestionID {
    init(_ number: UInt64) { self.number = number }
}

/// The answer to a question, or to a part of it. A partition whose leader is away delays only its own answer.
package enum KafkaAnswer: Sendable, Equatable {
    case committed([CommittedOffset])
    case ends([TopicPartition: Watermarks])
    /// Nil for a partition without such a record.
    case records(sinceMilliseconds: Int64, [TopicPartition: Int64?])
    /// The partitions that were not answered. The loop asks again after a pause.
    case failed([TopicPartition], KafkaError)
}
