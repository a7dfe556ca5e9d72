internal import CRdKafka
internal import Synchronization

/// How many records the library has counted as stored although no broker acknowledged them.
///
/// It does so when a later batch of the same partition is acknowledged: a broker that knows the producer would have
/// refused that batch with the earlier one missing. But a broker takes any sequence number from a producer that is
/// new to the partition, or that it has forgotten (`producer.id.expiration.ms`, a day). So when the first batch is
/// refused, by a leader that has just moved or has not begun, and the second, which was on its way already, is
/// taken, then the first is lost, and only this shows it.
final class ImpliedAcknowledgements: Sendable {
    private let count = Atomic<Int>(0)

    /// Since the last time it was asked.
    func take() -> Int { count.exchange(0, ordering: .acquiringAndReleasing) }

    /// Where nothing is told of single records: counts on the library's threads, before they leave its queue.
    func attach(to configuration: borrowing Configuration) {
        _ = unsafe rd_kafka_conf_interceptor_add_on_new(
            configuration.unfinished, interceptorName, onNew, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func add() { count.add(1, ordering: .acquiringAndReleasing) }

    static func includes(_ message: UnsafePointer<rd_kafka_message_t>) -> Bool {
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
    if let message = unsafe message, unsafe ImpliedAcknowledgements.includes(message),
        let opaque = unsafe opaque
    {
        unsafe Unmanaged<ImpliedAcknowledgements>.fromOpaque(opaque).takeUnretainedValue().add()
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
