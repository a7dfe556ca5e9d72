/// A query of offsets that a loop submits to Kafka without waiting for the result.
package enum OffsetQuery: Hashable, Sendable {
    /// The offsets that the consumer's group has committed.
    case committedOffsets([TopicPartition])
    /// The watermarks of each partition, as a reader of committed records sees them.
    case watermarks([TopicPartition])
    /// The first record at or after a time, in milliseconds since 1970.
    case firstRecords(sinceMilliseconds: Int64, [TopicPartition])
}

/// The number of a query. Each result comes together with it (`ConsumerEvent.queryCompleted`), so that a late result is not
/// taken for the result of a newer query.
package struct OffsetQueryID: Hashable, Sendable {
    let number: UInt64
}

/// The result of a query, or of a part of it. A partition without a leader fails alone.
package enum OffsetQueryResult: Sendable, Equatable {
    case committedOffsets([CommittedOffset])
    case watermarks([TopicPartition: Watermarks])
    /// The offset of the record by partition. Nil for a partition without such a record.
    case firstRecords(sinceMilliseconds: Int64, [TopicPartition: Int64?])
    /// The partitions without a result. The loop submits the query again after a pause.
    case failed([TopicPartition], KafkaError)
}
