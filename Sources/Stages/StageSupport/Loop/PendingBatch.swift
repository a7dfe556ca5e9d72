package import Kafka
package import Lifecycle

/// The newest batch of records, until transactions have taken all of them.
package struct PendingBatch: ~Copyable {
    package internal(set) var records: RecordBatch
    /// The records by partition and topic, without those of partitions that are not served.
    package internal(set) var parts: [BatchPart] = []
    /// The epoch of the assignment under which the records were read.
    package private(set) var epoch = 0
    /// The time of the poll that read the records.
    private(set) var readAt = Instant(nanoseconds: 0)
    /// The time of the poll before the one that read the records.
    package private(set) var previousPollAt = Instant(nanoseconds: 0)
    /// Whether the decider has prepared for the batch, so that the next transaction continues it.
    var hasBegun = false

    init(recordsMax: Int, bytesMax: Int) {
        records = RecordBatch(recordsMax: recordsMax, bytesMax: bytesMax)
    }

    /// Whether no record waits for a transaction.
    package var isTaken: Bool { parts.allSatisfy(\.isTaken) }

    /// Marks all records as taken.
    package mutating func markAllTaken() { parts = [] }

    /// Sorts the records that were just read into parts.
    mutating func groupByPartition(
        readIn epoch: Int, at now: Instant, previousPollAt: Instant, serving isServing: (Int32) -> Bool
    ) {
        (self.epoch, readAt, self.previousPollAt) = (epoch, now, previousPollAt)
        hasBegun = false
        parts = BatchPart.parts(of: records, serving: isServing)
    }

    mutating func removeAll() {
        parts = []
        records.clear()
    }
}
