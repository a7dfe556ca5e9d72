package import Kafka

/// The failures of transactions that took only one record. Such a record would stop its partition for ever, so it
/// becomes a dead letter after enough tries.
///
/// A small output fails only because of the cluster, which heals. Its record is always tried again. A large output may
/// be more than the cluster stores within the time of one transaction.
package struct LoneRecordFailures {
    /// The number of failed tries after which a record becomes a dead letter. With the pauses between them, they take
    /// several minutes.
    package static let triesMaxDefault = 20
    /// The size from which an output counts as large.
    package static let largeBytes = 1 << 20

    /// The failed tries of the first record that its partition has not committed.
    private struct Tries {
        let offset: Int64
        var count = 0
    }

    private let triesMax: Int
    private var triesByPartition: [TopicPartition: Tries] = [:]

    package init(triesMax: Int = LoneRecordFailures.triesMaxDefault) { self.triesMax = triesMax }

    package var isEmpty: Bool { triesByPartition.isEmpty }

    /// Notes that a transaction with only this record was not committed.
    package mutating func recordFailure(at offset: Int64, of partition: TopicPartition, outputBytes: Int) {
        guard outputBytes >= Self.largeBytes else { return }
        var tries = triesByPartition[partition] ?? Tries(offset: offset)
        if tries.offset != offset { tries = Tries(offset: offset) }
        tries.count += 1
        triesByPartition[partition] = tries
    }

    /// Forgets the failures of a partition, because its first record is committed.
    package mutating func recordCommit(of partition: TopicPartition) {
        if !isEmpty { triesByPartition[partition] = nil }
    }

    /// Returns the reason to send the record to the dead letters. Nil if the record is tried again.
    package func reasonToReject(recordAt offset: Int64, of partition: TopicPartition) -> RejectedRecord? {
        guard let tries = triesByPartition[partition], tries.offset == offset, tries.count >= triesMax else {
            return nil
        }
        return RejectedRecord(
            code: "never_committed",
            reason:
                "the cluster did not commit the output of this record in \(tries.count) transactions that took only this record; divide it into smaller requests, or redrive it when the cluster is faster"
        )
    }
}
