internal import InstallationRecords
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

// The records of a batch become one or more transactions: each report is read, forwarded if it lies in a wrong
// partition, and merged into its installation.

extension IngestDecider {
    /// The reports of a transaction, by outcome.
    struct OutcomeCounts {
        var merged = 0
        /// Reports that change nothing, or only times that are not written.
        var unchanged = 0
        var rejected = 0
        var forwarded = 0
    }

    func beginTransaction() {
        output.removeAll()
        outcomeCounts = OutcomeCounts()
        installationBatches.removeAll()
    }

    var isOutputFull: Bool { output.isFull }
    var outputByteCount: Int { output.byteCount }

    func setAside(recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord) {
        reject(recordAt: index, of: batch, as: rejection)
    }

    func addChangedRows() {
        for index in installationBatches.indices { installationBatches[index].write(to: &output) }
    }

    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(
            by: producer, installations: topics[0], registry: topics[1], events: topics[2],
            onStep: stage.reportStep)
    }

    func applyCommittedChanges(at now: Instant) {
        for installations in installationBatches {
            for entry in installations.entries {
                if let record = entry.recordNumber {
                    stage.views.overlays[installations.partition]?.recordCommit(
                        of: entry.key, as: output.record(number: record), at: now)
                } else if entry.status == .repeated, let installation = entry.installation {
                    stage.views.overlays[installations.partition]?.recordRepetition(
                        of: entry.key, as: installation.encoded(), at: now)
                }
            }
        }
    }

    func publishOutcomes() {
        let counts = output.counts
        stage.metrics.produced(to: "installations").add(counts.installations)
        stage.metrics.produced(to: "registry").add(counts.registry)
        stage.metrics.produced(to: "events").add(counts.events)
        stage.metrics.records(withOutcome: "merged").add(outcomeCounts.merged)
        stage.metrics.records(withOutcome: "unchanged").add(outcomeCounts.unchanged)
        stage.metrics.records(withOutcome: "rejected").add(outcomeCounts.rejected)
        stage.metrics.records(withOutcome: "forwarded").add(outcomeCounts.forwarded)
        metrics.forwardedReports.add(outcomeCounts.forwarded)
    }

    // MARK: Reading

    /// The maximum size of a report in bytes. A larger record becomes a dead letter. The limit leaves space for the key
    /// and the headers that forwarding adds, so that a report in a wrong partition still fits into its topic.
    private static let reportBytesMax = 512 << 10

    /// Reads a report, and sets `reportKey` to its key.
    private func read(_ record: borrowing Kafka.Record) throws(RejectedRecord) -> (
        report: Report, arrival: ReportArrival
    ) {
        guard let value = record.value else { throw .emptyValue(expected: "a report") }
        guard let arrival = record.arrival else { throw .missingTimestamp }
        guard value.count <= Self.reportBytesMax else {
            throw .tooLarge(byteCount: value.count, max: Self.reportBytesMax)
        }
        let report: Report
        do throws(RecordDecodingError) {
            report = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe Report.decode(bytes, with: mergers.reader)
            }
        } catch {
            throw RejectedRecord(error)
        }
        report.writeKey(to: &reportKey)
        guard reportKey.count <= EnvironmentLimits.keyBytesMax else {
            throw .keyTooLong(byteCount: reportKey.count, max: EnvironmentLimits.keyBytesMax)
        }
        return (report, arrival)
    }

    private func reject(recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord) {
        outcomeCounts.rejected += 1
        let sealedValue: [UInt8]? =
            if let value = batch[index].value { deadLetterSeal.sealedCopy(of: value) } else { nil }
        stage.sendToDeadLetters(
            recordAt: index, of: batch, as: rejection, sealedValue: sealedValue, at: decidedAt)
    }

    // MARK: Deciding

    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws {
        guard let overlay = stage.views.overlays[part.partition], let view = stage.views[part.partition]
        else {
            return stage.member.startOverLater(logging: "the view of a partition is not open", reason: "")
        }
        var installations = InstallationBatch(partition: part.partition)
        let takenBefore = part.takenCount
        try view.withSnapshot { snapshot throws(StoreError) in
            while !part.isTaken, part.takenCount - takenBefore < recordsMax, !output.isFull {
                try merge(
                    recordAt: part.nextIndex, of: batch, into: &installations, overlay: overlay, view: view,
                    snapshot: snapshot)
                part.markNextTaken()
            }
        }
        if let newer = installations.newerRecord { throw StageFailure.newerRecord(newer.description) }
        installationBatches.append(installations)
    }

    private func merge(
        recordAt index: Int, of batch: borrowing RecordBatch, into installations: inout InstallationBatch,
        overlay: Overlay, view: TopicView, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        let report: Report
        let arrival: ReportArrival
        do throws(RejectedRecord) {
            (report, arrival) = try read(batch[index])
        } catch {
            return reject(recordAt: index, of: batch, as: error)
        }
        // A copy of an erasure has a key for its user, and every partition is the right one for it.
        let isErasureCopy = report.isUserErasure ? batch[index].isCopyForAllPartitions : false
        if isErasureCopy { reportKey = ErasedUsers.key(app: report.app, user: report.user ?? "") }
        let keyHash = Murmur2.hash(of: reportKey.span)
        let rightPartition = Int32(
            Murmur2.partition(forHash: keyHash, partitionCount: stage.layout.lanes))
        guard rightPartition == installations.partition || isErasureCopy else {
            return forward(recordAt: index, of: batch, arrival: arrival, to: rightPartition)
        }
        guard let merger = mergers.merger(for: report.app, age: decidedAt - arrival.receivedAt) else {
            return reject(recordAt: index, of: batch, as: .unknownApp(report.app))
        }
        let entry = try findOrLoadEntry(
            keyHash: keyHash, in: &installations, overlay: overlay, view: view, snapshot: snapshot)
        let outcome = merger.merge(
            report, arrival: arrival, into: installations.entries[entry].installation, now: decidedAt)
        if report.isUserErasure, !isErasureCopy, case .merged = outcome {
            copyToAllPartitions(recordAt: index, of: batch, report: report, arrival: arrival)
        }
        apply(outcome, toEntry: entry, recordAt: index, of: batch, in: &installations)
    }

    /// Returns the number of the entry with the current report's key. A new entry gets the newest known installation.
    private func findOrLoadEntry(
        keyHash: UInt32, in installations: inout InstallationBatch, overlay: Overlay, view: TopicView,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Int {
        if let entry = installations.index(of: reportKey, hash: keyHash) { return entry }
        let key = HashedKey(reportKey)
        let installation =
            if let record = overlay[key] { decodeOverlayRecord(record) } else {
                try readInstallation(for: key, in: view, snapshot: snapshot, installations: &installations)
            }
        return installations.add(key: key, hash: keyHash, installation: installation)
    }

    /// Copies an erasure to all partitions, because the user's installations are in all of them. The copies
    /// are acknowledged before the offset is committed. A duplicate copy changes nothing.
    private func copyToAllPartitions(
        recordAt index: Int, of batch: borrowing RecordBatch, report: Report, arrival: ReportArrival
    ) {
        let record = batch[index]
        guard let value = record.value else { return }
        let key = ErasedUsers.key(app: report.app, user: report.user ?? "")
        for partition in 0..<Int32(stage.layout.lanes) {
            forwarder.forward(value, key: key, arrival: arrival, to: partition, isCopyForAllPartitions: true)
        }
    }

    private func apply(
        _ outcome: consuming ReportMerger.Outcome, toEntry entry: Int, recordAt index: Int,
        of batch: borrowing RecordBatch, in installations: inout InstallationBatch
    ) {
        switch consume outcome {
        case .rejected(let rejection): reject(recordAt: index, of: batch, as: RejectedRecord(rejection))
        case .unchanged: outcomeCounts.unchanged += 1
        case .merged(var merged):
            let isFirstChange = installations.entries[entry].status != .changed
            guard installations.updateEntry(at: entry, with: merged) else {
                outcomeCounts.unchanged += 1
                return
            }
            outcomeCounts.merged += 1
            if isFirstChange { output.reserveSpace(for: merged.installation) }
            // Each element is moved out of its array, because reading it there would copy it.
            merged.events.reverse()
            merged.changes.reverse()
            while let event = merged.events.popLast() { output.add(event) }
            while let change = merged.changes.popLast() { output.add(change) }
        }
    }

    private func forward(
        recordAt index: Int, of batch: borrowing RecordBatch, arrival: ReportArrival, to partition: Int32
    ) {
        let record = batch[index]
        guard let value = record.value else { return }
        if let sealed = deadLetterSeal.sealedCopy(of: value) {
            forwarder.forward(sealed.span, key: reportKey, arrival: arrival, to: partition)
        } else {
            forwarder.forward(value, key: reportKey, arrival: arrival, to: partition)
        }
        outcomeCounts.forwarded += 1
        stage.reportStep(.misroutedReportForwarded)
    }

    // MARK: Known installations

    /// Decodes a record of the overlay. Returns nil for a tombstone, which is empty.
    private func decodeOverlayRecord(_ record: [UInt8]) -> Installation? {
        if record.isEmpty { return nil }
        output.countDecoded(bytes: record.count)
        guard let installation = try? Installation.decode(record, with: mergers.reader) else {
            preconditionFailure("a record that this process has written cannot be read")
        }
        return installation
    }

    /// Reads an installation from the view. Returns nil if the view has none, or one that cannot be read.
    private func readInstallation(
        for key: HashedKey, in view: TopicView, snapshot: borrowing ReadSnapshot,
        installations: inout InstallationBatch
    ) throws(StoreError) -> Installation? {
        var installation: Installation?
        var newerRecord: RecordDecodingError?
        try view.lookUp(key.bytes.span, in: snapshot) { value in
            output.countDecoded(bytes: value.count)
            do throws(RecordDecodingError) {
                installation = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                    try unsafe Installation.decode(bytes, with: mergers.reader)
                }
            } catch {
                // The checksum before the value is right, so the topic holds this record.
                if case .unknownVersion = error { newerRecord = error }
                stage.log.error(
                    "a record of installations cannot be read; the next report of the installation makes a new one",
                    .field("partition", view.topicPartition.partition), .field("error", error))
            }
        }
        if let newerRecord { installations.newerRecord = newerRecord }
        return installation
    }
}
