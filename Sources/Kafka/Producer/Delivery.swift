/// What became of one record that was sent.
package struct Delivery: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// Acknowledged by all in-sync replicas. The offset is unknown, negative, where the
        /// acknowledgement of an earlier attempt was lost.
        case stored(offset: Int64)
        /// Not stored, and never will be.
        case notStored(ErrorCode)
        /// Perhaps stored: the answer did not come, or only that of records behind it.
        case unknown(ErrorCode)
    }

    /// The sender's own number for the record.
    package let tag: UInt64
    package let partition: Int32
    package let outcome: Outcome
    /// Milliseconds since 1970 by the clock of the broker that stored it, where the topic is stamped by it.
    package let stamp: Int64?

    package init(tag: UInt64, partition: Int32, outcome: Outcome, stamp: Int64? = nil) {
        self.tag = tag
        self.partition = partition
        self.outcome = outcome
        self.stamp = stamp
    }

    package var isStored: Bool {
        if case .stored = outcome { true } else { false }
    }
}
