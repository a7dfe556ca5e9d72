package import Kafka
package import Lifecycle

/// The partitions whose watermarks (first offset and end) a loop has queried or is about to query. The loop submits
/// queries and does not wait. If a query fails, its partitions are queried again after a pause.
package struct AwaitedWatermarks {
    /// The pause after a failed query.
    package static let retryMilliseconds = 500
    /// The time after which a query without an answer counts as failed. A client that was replaced never answers.
    package static let answerMillisecondsMax = 10_000

    /// The watermarks of a partition, and the time at which the query was submitted.
    package struct PartitionWatermarks: Equatable {
        package let partition: TopicPartition
        package let watermarks: Watermarks
        package let askedAt: Instant
    }

    private enum WaitState: Equatable {
        /// The query is submitted at this time or later.
        case due(Instant)
        case queried(OffsetQueryID, at: Instant)
    }

    private var waits: [TopicPartition: WaitState] = [:]

    package init() {}

    package var isEmpty: Bool { waits.isEmpty }
    package func contains(_ partition: TopicPartition) -> Bool { waits[partition] != nil }

    /// Adds partitions. An answer to an earlier query does not count for them.
    package mutating func add(_ partitions: some Sequence<TopicPartition>, at time: Instant) {
        for partition in partitions { waits[partition] = .due(time) }
    }

    /// Removes partitions. Their answers are ignored.
    package mutating func remove(_ partitions: some Sequence<TopicPartition>) {
        for partition in partitions { waits[partition] = nil }
    }

    package mutating func removeAll() { waits = [:] }

    /// Submits one query for all partitions that are due.
    package mutating func submitDueQuery<Failure: Error>(
        at now: Instant, with submit: (OffsetQuery) throws(Failure) -> OffsetQueryID
    ) throws(Failure) {
        if waits.isEmpty { return }
        let duePartitions = waits.filter { isDue($0.value, at: now) }.map(\.key)
        if duePartitions.isEmpty { return }
        let query = try submit(.watermarks(duePartitions))
        for partition in duePartitions { waits[partition] = .queried(query, at: now) }
    }

    private func isDue(_ wait: WaitState, at now: Instant) -> Bool {
        switch wait {
        case .due(let time): time <= now
        case .queried(_, let time): now.milliseconds(since: time) >= Self.answerMillisecondsMax
        }
    }

    /// Takes the answer to a query. Returns the watermarks of the partitions that waited for this answer.
    package mutating func handle(_ answer: OffsetQueryResult, to query: OffsetQueryID, at now: Instant)
        -> [PartitionWatermarks]
    {
        switch answer {
        case .watermarks(let watermarksByPartition):
            var found: [PartitionWatermarks] = []
            for (partition, watermarks) in watermarksByPartition {
                guard case .queried(query, let askedAt) = waits[partition] else { continue }
                waits[partition] = nil
                found.append(
                    PartitionWatermarks(partition: partition, watermarks: watermarks, askedAt: askedAt))
            }
            return found
        case .failed(let partitions, _):
            for partition in partitions {
                guard case .queried(query, _) = waits[partition] else { continue }
                waits[partition] = .due(now.advanced(byMilliseconds: Self.retryMilliseconds))
            }
            return []
        case .committedOffsets, .firstRecords: return []
        }
    }
}
