internal import Lifecycle
internal import Telemetry

// The deliveries of the records that the writer has handed to Kafka: they are stored, failed, or refused. The plan
// orders a record again until it is stored.
extension SenderLoop {
    /// Interval of retries for records that Kafka refused.
    private static let refusedRetryMilliseconds = 1_000

    /// Reports to the plan which records are stored, and which have to be written again.
    func reportDeliveries() throws {
        var time = time
        var storedMarkers: [(tag: UInt64, offset: Int64?)] = []
        var failedMarkers: [UInt64] = []
        writer.reportDeliveries(
            stamped: {
                shared.noteStored(stamp: $0, at: loop.now)
                hasStoredRecord = true
                // The stamp may have changed the cluster's time.
                time = self.time
            },
            stored: { tag, offset in
                if TakeoverMarkers.isMarkerTag(tag) { return storedMarkers.append((tag, offset)) }
                plan.stored(tag, offset: offset, at: time)
            },
            failed: { tag in
                if TakeoverMarkers.isMarkerTag(tag) { return failedMarkers.append(tag) }
                plan.writeFailed(tag, at: time)
            })
        for (tag, offset) in storedMarkers { markerIsStored(tag, at: offset) }
        for tag in failedMarkers { markerHasFailed(tag) }
        writeMarkers()
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
        for id in refusedRecords { plan.writeFailed(id, at: time) }
        refusedRecords = []
    }

    /// Makes a new producer. The old one reports no deliveries any more, so all its records are written again.
    private func replaceProducer() throws {
        wakeups?.deliveries.deregister(from: loop)
        try writer.replaceProducer()
        wakeups?.deliveries = WakeupSignal(of: writer.descriptor, for: self)
        try wakeups?.deliveries.register(on: loop)
        plan.allWritesFailed(at: time)
        markers.noteAllFailed()
    }

    // MARK: Takeover markers

    /// Writes the markers that are due.
    func writeMarkers() {
        markers.writeDue(at: loop.now) { lane, tag in
            writer.write(plan.takeoverMarker, inLane: lane, tag: tag)
        }
    }

    private func markerIsStored(_ tag: UInt64, at offset: Int64?) {
        guard let marker = markers.noteStored(tag, at: offset) else { return }
        plan.takeoverMarkerIsStored(lane: marker.lane, at: marker.offset)
        receipts.begin(lane: marker.lane, markerAt: marker.offset)
        wakeups?.receipts.raise()
    }

    private func markerHasFailed(_ tag: UInt64) {
        guard let lane = markers.noteFailed(tag, at: loop.now) else { return }
        log.warning(
            "the marker of a takeover cannot be written to receipts now; the lane waits",
            .field("lane", lane))
    }
}
