package import Kafka

/// The dead letters that a loop has sent for records that are not committed yet. If the transaction of such a record
/// fails, the record is read and rejected again, but its dead letter is not sent again.
///
/// Only a crash, a failed write or a new owner of the partition can duplicate a dead letter.
package struct SentDeadLetters {
    /// The most records whose stored dead letters are remembered. At the limit all are forgotten. The writer limits
    /// those that are not stored yet.
    package static let storedMax = 10_000

    /// The offsets of the rejected records.
    private typealias Offsets = [TopicPartition: Set<Int64>]

    /// The records whose dead letters the cluster has not acknowledged.
    private var unacknowledged: Offsets = [:]
    private var stored: Offsets = [:]
    /// The number of offsets in `stored`.
    private var storedCount = 0

    package init() {}

    /// Notes that a record is rejected. Returns whether the caller has to send its dead letter, because the dead letter
    /// is neither stored nor waits for its acknowledgement.
    package mutating func noteRejection(ofRecordAt offset: Int64, of partition: TopicPartition) -> Bool {
        if stored[partition]?.contains(offset) == true { return false }
        return unacknowledged[partition, default: []].insert(offset).inserted
    }

    /// Notes that the cluster has acknowledged all dead letters.
    package mutating func markAllStored() {
        if unacknowledged.isEmpty { return }
        let count = unacknowledged.values.reduce(0) { $0 + $1.count }
        if storedCount + count > Self.storedMax { (stored, storedCount) = ([:], 0) }
        for (partition, offsets) in unacknowledged { stored[partition, default: []].formUnion(offsets) }
        storedCount += count
        unacknowledged = [:]
    }

    /// Notes that at least one dead letter without an acknowledgement is not stored, or may not be. All of them are
    /// sent again.
    package mutating func forgetUnacknowledged() { unacknowledged = [:] }

    /// Forgets the records of a partition below an offset, because they are committed.
    package mutating func recordCommit(of partition: TopicPartition, below offset: Int64) {
        guard storedCount > 0, let offsets = stored[partition] else { return }
        let remaining = offsets.filter { $0 >= offset }
        storedCount -= offsets.count - remaining.count
        stored[partition] = remaining.isEmpty ? nil : remaining
    }
}
