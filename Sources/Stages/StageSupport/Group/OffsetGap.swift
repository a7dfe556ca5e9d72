package import Kafka
package import Topics

/// A committed offset that its partition no longer holds, and the offsets that it holds.
package struct OffsetGap: Equatable, Sendable {
    /// The reason of a gap, which decides how the partition continues.
    package enum Assessment: Equatable, Sendable {
        /// The offset is in range. The partition continues there.
        case inRange
        /// Only the marker of a transaction was deleted. The partition continues at the first record.
        case transactionMarker
        /// Every deleted record had expired before its topic deleted it. The partition continues at the first record.
        case expired
        /// Records that still matter may be gone. The partition waits for the operator.
        case recordsLost
        /// The log ends before the offset: the topic was created again, or a leader lost records.
        case logIsShorter
    }

    package let partition: TopicPartition
    /// The offset that the group has committed.
    package let committed: Int64
    /// The first offset that the partition holds, and its end.
    package let watermarks: Watermarks

    package init(partition: TopicPartition, committed: Int64, watermarks: Watermarks) {
        self.partition = partition
        self.committed = committed
        self.watermarks = watermarks
    }

    /// Offsets that were deleted before they were read.
    package var missingCount: Int64 { max(0, watermarks.low - committed) }

    /// Decides why the gap is there.
    ///
    /// - Parameter topic: the partition's topic, without its prefix.
    package func assessment(for topic: TopicName) -> Assessment {
        if committed > watermarks.high { return .logIsShorter }
        if committed >= watermarks.low { return .inRange }
        if missingCount == 1, topic.hasTransactions { return .transactionMarker }
        // Only the topic's retention deletes records without an operator, and it is longer than these records are
        // valid.
        return topic.expiresBeforeRetention ? .expired : .recordsLost
    }

    /// The offsets, and the reason of the gap, for operators.
    package var description: String {
        committed > watermarks.high
            ? "\(partition) ends at \(watermarks.high), before the committed offset \(committed): the topic was created again or has lost records"
            : "\(partition) begins at \(watermarks.low), after the committed offset \(committed): \(missingCount) offsets were deleted before they were read"
    }
}
