package import Kafka
package import Lifecycle

/// The partitions whose ends a loop waits for. The loop asks for them without waiting, and a partition whose question
/// failed is asked for again after a pause.
package struct AwaitedEnds {
    /// The pause after a failed question.
    package static let retryMilliseconds = 500
    /// The time after which a question counts as failed. A client that was replaced answers nothing more.
    package static let answerMillisecondsMax = 10_000

    /// The ends of a partition, and the time at which the question was asked.
    package struct FoundEnds: Equatable {
        package let partition: TopicPartition
        package let ends: Watermarks
        package let askedAt: Instant
    }

    private enum WaitState: Equatable {
        case due(Instant)
        case queried(OffsetQueryID, at: Instant)
    }

    private var waits: [TopicPartition: WaitState] = [:]

    package init() {}

    package var isEmpty: Bool { waits.isEmpty }
    package func contains(_ partition: TopicPartition) -> Bool { waits[partition] != nil }

    /// Waits for the ends of more partitions. An answer to an earlier question does not count for them.
    package mutating func add(_ partitions: some Sequence<TopicPartition>, at time: Instant) {
        for partition in partitions { waits[partition] = .due(time) }
    }

    package mutating func remove(_ partitions: some Sequence<TopicPartition>) {
        for partition in partitions { waits[partition] = nil }
    }

    package mutating func removeAll() { waits = [:] }

    /// Asks for all partitions that are due, in one question.
    package mutating func submitDueQuery<Failure: Error>(
        at now: Instant, with ask: (OffsetQuery) throws(Failure) -> OffsetQueryID
    ) throws(Failure) {
        if waits.isEmpty { return }
        let due = waits.filter { isDue($0.value, at: now) }.map(\.key)
        if due.isEmpty { return }
        let question = try ask(.watermarks(due))
        for partition in due { waits[partition] = .queried(question, at: now) }
    }

    private func isDue(_ wait: WaitState, at now: Instant) -> Bool {
        switch wait {
        case .due(let time): time <= now
        case .queried(_, let time): now.milliseconds(since: time) >= Self.answerMillisecondsMax
        }
    }

    /// Takes the answer to a question. Returns the ends of partitions that wait for this answer.
    package mutating func handle(_ answer: OffsetQueryResult, to question: OffsetQueryID, at now: Instant)
        -> [FoundEnds]
    {
        switch answer {
        case .watermarks(let ends):
            var found: [FoundEnds] = []
            for (partition, ends) in ends {
                guard case .queried(question, let time) = waits[partition] else { continue }
                waits[partition] = nil
                found.append(FoundEnds(partition: partition, ends: ends, askedAt: time))
            }
            return found
        case .failed(let partitions, _):
            for partition in partitions {
                guard case .queried(question, _) = waits[partition] else { continue }
                waits[partition] = .due(now.advanced(byMilliseconds: Self.retryMilliseconds))
            }
            return []
        case .committedOffsets, .firstRecords: return []
        }
    }
}
