internal import CRdKafka

/// The group membership at the start of a transaction: member, generation and assignment epoch. Kafka commits
/// the transaction's offsets only for this generation.
///
/// It is captured before the transaction's first record. Otherwise a member that was suspended and has rejoined
/// could commit old work under its new generation.
@safe
package final class GroupMetadata: Sendable {
    /// The handle. Neither this process nor the library changes it after it was made.
    nonisolated(unsafe) let pointer: OpaquePointer
    package let epoch: Int

    init(pointer: OpaquePointer, epoch: Int) {
        unsafe self.pointer = pointer
        self.epoch = epoch
    }

    deinit { unsafe rd_kafka_consumer_group_metadata_destroy(pointer) }
}
