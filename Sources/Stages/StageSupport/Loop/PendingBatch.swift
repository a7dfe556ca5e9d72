package import Kafka
package import Lifecycle

/// The records of the newest batch that no transaction has taken yet.
package struct PendingBatch: ~Copyable {
    package internal(set) var records: RecordBatch
    /// The records by partition and topic, without those of partitions that do not flow.
    package internal(set) var parts: [BatchPart] = []
    /// The epoch of the assignment under which the records were read.
    package private(set) var epoch = 0
    private(set) var readAt = Instant(nanoseconds: 0)
    /// The time of the poll before.
    package private(set) var previousPollAt = Instant(nanoseconds: 0)
    var hasBegun = false

    init(recordsMax: Int, bytesMax: Int) {
        records = RecordBatch(recordsMax: recordsMax, bytesMax: bytesMax)
    }

    package var isTaken: Bool { parts.allSatisfy(\.isTaken) }

    /// Marks all records as taken.
    package mutating func markAllTaken() { parts = [] }

    /// Sorts the records that were read.
    mutating func groupByPartition(
        readIn epoch: Int, at now: Instant, previousPollAt polledBefore: Instant,
        serving serves: (Int32) -> Bool
    ) {
        (self.epoch, readAt, self.previousPollAt) = (epoch, now, polledBefore)
        hasBegun = false
        parts = BatchPart.parts(of: records, serving: serves)
    }

    mutating func removeAll() {
        parts = []
        records.clear()
    }
}
