internal import Lifecycle
internal import Telemetry

// The deliveries of the records that the writer has handed to Kafka: they are stored, failed, or refused. The plan
// orders each record until it is stored.
extension SenderLoop {
    /// Interval of retries for records that Kafka refused.
    private static let refusedRetryMilliseconds = 1_000

    /// Reports to the plan which records are stored, and which have to be written again.
    func reportDeliveries() throws {
        var time = time
        writer.reportDeliveries(
            stamped: {
                shared.stored($0, at: loop.now)
                hasStoredRecord = true
                time = self.time
            },
            stored: { plan.stored($0, offset: $1, at: time) },
            failed: { plan.writeFailed($0) })
        retryRefusedRecords(at: time.now)
        if writer.hasFailed {
            log.warning("the producer failed; the sender makes a new one")
            try replaceProducer()
        }
    }

    /// Lets the plan write refused records again after a pause.
    private func retryRefusedRecords(at now: Instant) {
        let newlyRefused = writer.takeRefused()
        if !newlyRefused.isEmpty {
            log.error(
                "kafka refuses records, and their jobs wait: check the topic's max.message.bytes and the access rights",
                .field("records", newlyRefused.count))
            refusedRecords += newlyRefused
        }
        guard !refusedRecords.isEmpty, now >= nextRefusedRetry else { return }
        nextRefusedRetry = now.advanced(byMilliseconds: Self.refusedRetryMilliseconds)
        for id in refusedRecords { plan.writeFailed(id) }
        refusedRecords = []
    }

    /// Makes a new producer. The old one reports no deliveries any more, so all its records are written again.
    private func replaceProducer() throws {
        wakeups?.deliveries.deregister(from: loop)
        try writer.replaceProducer()
        wakeups?.deliveries = WakeupSignal(of: writer.descriptor, for: self)
        try wakeups?.deliveries.register(on: loop)
        plan.allWritesFailed()
    }
}
