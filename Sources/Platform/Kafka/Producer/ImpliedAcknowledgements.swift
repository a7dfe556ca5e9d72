internal import CRdKafka
internal import Synchronization

/// A counter of records that the library reports as stored although no broker acknowledged them.
///
/// The library does so when a later batch of the same partition is acknowledged. A broker that knows the
/// producer would have refused that batch while the earlier one is missing. But a broker accepts any sequence
/// number from a producer that is new to the partition, or that it has forgotten
/// (`producer.id.expiration.ms`, one day). Suppose a leader that has just moved or has not started refuses
/// the first batch and accepts the second, which was already in flight. Then the first batch is lost, and
/// only this counter shows the loss.
final class ImpliedAcknowledgements: Sendable {
    /// The partitions of the records that failed, which the same callback of the library reports.
    let undeliveredPartitions = UndeliveredPartitions()
    private let count = Atomic<Int>(0)

    /// Returns the number of such records since the last call.
    func takeCount() -> Int { count.exchange(0, ordering: .acquiringAndReleasing) }

    /// Counts on the library's threads, before records leave its queue. A transactional producer needs this,
    /// because it gets no event per record.
    func attach(to configuration: borrowing ClientConfiguration) {
        _ = unsafe rd_kafka_conf_interceptor_add_on_new(
            configuration.borrowedPointer, interceptorName, onNew, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func increment() { count.add(1, ordering: .acquiringAndReleasing) }

    /// Returns whether a record counts as stored although no broker acknowledged it.
    static func isImplied(_ message: UnsafePointer<rd_kafka_message_t>) -> Bool {
        unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR && rd_kafka_message_broker_id(message) < 0
    }
}

private let interceptorName = "implied-acknowledgements"

private func onNew(
    _ client: OpaquePointer?, _ configuration: OpaquePointer?, _ opaque: UnsafeMutableRawPointer?,
    _ text: UnsafeMutablePointer<CChar>?, _ size: Int
) -> rd_kafka_resp_err_t {
    unsafe rd_kafka_interceptor_add_on_acknowledgement(client, interceptorName, onAcknowledgement, opaque)
}

private func onAcknowledgement(
    _ client: OpaquePointer?, _ message: UnsafeMutablePointer<rd_kafka_message_t>?,
    _ opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    if let message = unsafe message, let opaque = unsafe opaque {
        if unsafe message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR {
            guard let topic = unsafe message.pointee.rkt else { return RD_KAFKA_RESP_ERR_NO_ERROR }
            let partition = TopicPartition(
                unsafe String(cString: rd_kafka_topic_name(topic)), unsafe message.pointee.partition)
            unsafe Unmanaged<ImpliedAcknowledgements>.fromOpaque(opaque).takeUnretainedValue()
                .undeliveredPartitions.add(partition)
        } else if unsafe ImpliedAcknowledgements.isImplied(message) {
            unsafe Unmanaged<ImpliedAcknowledgements>.fromOpaque(opaque).takeUnretainedValue().increment()
        }
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
