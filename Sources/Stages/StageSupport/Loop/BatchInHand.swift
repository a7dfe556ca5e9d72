package import Kafka
package import Lifecycle

/// The records of the newest batch that no transaction has taken yet.
package struct BatchInHand: ~Copyable {
    package internal(set) var batch: RecordBatch
    /// The records by partition and topic, without those of partitions that do not flow.
    package internal(set) var parts: [BatchPart] = []
    /// The epoch of the assignment under which the records were read.
    package private(set) var epoch = 0
    private(set) var readAt = Instant(nanoseconds: 0)
    /// The time of the poll before.
    package private(set) var polledBefore = Instant(nanoseconds: 0)
    var isBegun = false

    init(recordsMax: Int, bytesMax: Int) {
        batch = RecordBatch(recordsMax: recordsMax, bytesMax: bytesMax)
    }

    package var isTaken: Bool { parts.allSatisfy(\.isTaken) }

    /// Marks all records as taken.
    package mutating func takeAll() { parts = [] }

    /// Sorts the records that were read.
    mutating func sortOut(
        readIn epoch: Int, at now: Instant, after polledBefore: Instant, serving serves: (Int32) -> Bool
    ) {
        (self.epoch, readAt, self.polledBefore) = (epoch, now, polledBefore)
        isBegun = false
        parts = BatchPart.all(of: batch, serving: serves)
    }

    mutating func drop() {
        parts = []
        batch.clear()
    }
}
