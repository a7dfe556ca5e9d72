internal import CRdKafka

/// Who we were in the group when a transaction began: member, generation and assignment epoch.
/// Captured before the transaction's first record, so that a member which was paused and has since
/// rejoined cannot commit old work under its new generation.
@safe
package final class GroupMetadata: Sendable {
    /// Nobody changes it after it was made, the library included.
    nonisolated(unsafe) let pointer: OpaquePointer
    package let epoch: Int

    init(_ pointer: OpaquePointer, epoch: Int) {
        unsafe self.pointer = pointer
        self.epoch = epoch
    }

    deinit { unsafe rd_kafka_consumer_group_metadata_destroy(pointer) }
}
