package import Kafka
package import Lifecycle

/// The ends of partitions that a stage has read and its group has not committed.
///
/// A transaction ends with a marker, which takes an offset. In a topic with transactions, the offset after the last
/// record is the offset of a marker. Retention can delete records and markers up to the end of the log. A committed
/// offset that points to a marker is then out of range at the next start. An idle stage therefore commits the end.
package struct UncommittedEnds {
    /// The time for which a partition must have been quiet at its end before the end is committed. A busy partition
    /// commits its records anyway. Retention takes hours, so a young end can wait.
    package static let quietMilliseconds = 5000
    /// The pause between two commits of all offsets, changed or not. Kafka deletes an offset after seven days without a
    /// commit if the group does not subscribe to its topic.
    package static let renewalMilliseconds = 12 * 3_600_000

    private struct End {
        let offset: Int64
        let reachedAt: Instant
    }

    private var ends: [TopicPartition: End] = [:]
    private var nextRenewal: Instant

    package init(now: Instant) {
        nextRenewal = now.advanced(byMilliseconds: Self.renewalMilliseconds)
    }

    /// Notes that the consumer has handed over everything below `offset`.
    package mutating func recordEnd(of partition: TopicPartition, at offset: Int64, now: Instant) {
        ends[partition] = End(offset: offset, reachedAt: now)
    }

    /// Forgets an end, because it is committed or a record below it waits.
    package mutating func removeEnd(of partition: TopicPartition) { ends[partition] = nil }

    /// Forgets all ends, because records below them are read again.
    package mutating func removeAll() { ends = [:] }

    /// Whether a partition has been quiet at its end for long enough, or a renewal is due.
    package func isDue(at now: Instant) -> Bool {
        now >= nextRenewal
            || ends.values.contains { now.milliseconds(since: $0.reachedAt) >= Self.quietMilliseconds }
    }

    /// Returns whether all offsets must be committed again now. If so, the next pause begins.
    package mutating func beginRenewalIfDue(at now: Instant) -> Bool {
        guard now >= nextRenewal else { return false }
        nextRenewal = now.advanced(byMilliseconds: Self.renewalMilliseconds)
        return true
    }

    /// Returns the end to commit, or nil if the committed offset has reached it. The caller makes sure that no record
    /// below the end waits, because a record that is not committed must be read again after a crash.
    ///
    /// - Parameter committed: the group's offset; nil if the group has none.
    package func end(of partition: TopicPartition, committed: Int64?) -> Int64? {
        guard let end = ends[partition]?.offset else { return nil }
        if let committed, end <= committed { return nil }
        return end
    }
}
