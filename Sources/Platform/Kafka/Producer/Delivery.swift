/// The outcome of one record that a producer sent.
package struct Delivery: Sendable, Equatable {
    package enum DeliveryOutcome: Sendable, Equatable {
        /// All in-sync replicas have acknowledged the record. A negative offset is unknown, because the
        /// acknowledgement of an earlier attempt was lost.
        case stored(offset: Int64)
        /// The record is not stored and never will be.
        case notStored(KafkaErrorCode)
        /// The record may be stored: no acknowledgement came, or only one for later records.
        case unknown(KafkaErrorCode)
    }

    /// The number that the sender gave the record.
    package let tag: UInt64
    package let partition: Int32
    package let outcome: DeliveryOutcome
    /// The time at which the broker stored the record, in milliseconds since 1970 by the broker's clock. Nil
    /// if the broker does not stamp the topic.
    package let brokerTimestamp: Int64?

    package init(tag: UInt64, partition: Int32, outcome: DeliveryOutcome, brokerTimestamp: Int64? = nil) {
        self.tag = tag
        self.partition = partition
        self.outcome = outcome
        self.brokerTimestamp = brokerTimestamp
    }

    package var isStored: Bool {
        if case .stored = outcome { true } else { false }
    }
}
