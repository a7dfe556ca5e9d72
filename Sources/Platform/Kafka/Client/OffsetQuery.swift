/// A question to Kafka that a loop asks without waiting for the answer.
package enum OffsetQuery: Hashable, Sendable {
    /// The offsets that the consumer's group has committed.
    case committedOffsets([TopicPartition])
    /// The first offset and the end of each partition, as a reader of committed records sees them.
    case watermarks([TopicPartition])
    /// The first record at or after a time, in milliseconds since 1970.
    case firstRecords(sinceMilliseconds: Int64, [TopicPartition])
}

/// The number of a question. Its answers carry it, so that a late answer is not taken for the answer to a newer question.
package struct OffsetQueryID: Hashable, Sendable {
    let number: UInt64
}

/// The answer to a question, or to a part of it. A partition whose leader is away delays only its own answer.
package enum OffsetQueryResult: Sendable, Equatable {
    case committedOffsets([CommittedOffset])
    case watermarks([TopicPartition: Watermarks])
    /// Nil for a partition without such a record.
    case firstRecords(sinceMilliseconds: Int64, [TopicPartition: Int64?])
    /// The partitions that were not answered. The loop asks again after a pause.
    case failed([TopicPartition], KafkaError)
}
