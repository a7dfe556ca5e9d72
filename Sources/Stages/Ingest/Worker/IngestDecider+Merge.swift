internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Topics

// The reports of a transaction: each is read, forwarded if it lies in a wrong partition, and merged into its
// installation.

extension IngestDecider {
    // MARK: Deciding

    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws {
        guard let overlay = stage.views.overlays[part.partition], let view = stage.views[part.partition]
        else {
            return stage.member.startOverLater(logging: "the view of a partition is not open")
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
        if pendingErasures.count > 0 {
            try erase(pendingErasures, from: &installations, overlay: overlay, view: view)
            pendingErasures = ErasedUsers()
        }
        if let newer = installations.newerRecord { throw StageFailure.newerRecord(newer.description) }
        installationBatches.append(installations)
    }

    /// Merges one report into its installation, or forwards or rejects it.
    private func merge(
        recordAt index: Int, of batch: borrowing RecordBatch, into installations: inout InstallationBatch,
        overlay: Overlay, view: TopicView, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        if let key = batch[index].key, TokenOwnerRow.isKey(key) {
            return try decideOwners(
                recordAt: index, of: batch, in: &installations, overlay: overlay, view: view,
                snapshot: snapshot)
        }
        let report: Report
        let arrival: ReportArrival
        do throws(RejectedRecord) {
            (report, arrival) = try read(batch[index])
        } catch {
            return setAside(recordAt: index, of: batch, as: error)
        }
        // A copy of a user's erasure is for this partition, and has its own key (`ErasedUsers`).
        let isErasureCopy = report.isUserErasure ? batch[index].isCopyForAllPartitions : false
        if isErasureCopy { reportKey = erasureKey(of: report) }
        let keyHash = Murmur2.hash(of: reportKey.span)
        let rightPartition = Int32(
            Murmur2.partition(forHash: keyHash, partitionCount: stage.layout.lanes))
        guard rightPartition == installations.partition || isErasureCopy else {
            return forward(recordAt: index, of: batch, arrival: arrival, to: rightPartition)
        }
        guard let merger = mergers.merger(for: report.app, age: decidedAt - arrival.receivedAt) else {
            return setAside(recordAt: index, of: batch, as: .unknownApp(report.app))
        }
        let entryIndex = try findOrLoadEntry(
            keyHash: keyHash, in: &installations, overlay: overlay, view: view, snapshot: snapshot)
        let outcome = merger.merge(
            report, arrival: arrival, into: installations.entries[entryIndex].installation, now: decidedAt)
        if case .merged(let merged) = outcome {
            if let claim = merged.claim { note(claim, of: report) }
            if isErasureCopy {
                notePendingErasure(in: merged.installation)
            } else if report.isUserErasure {
                copyToAllPartitions(recordAt: index, of: batch, report: report, arrival: arrival)
            }
        }
        apply(outcome, toEntryAt: entryIndex, recordAt: index, of: batch, in: &installations)
    }

    /// Takes over the outcome of a report: its entry, and the records for the output.
    private func apply(
        _ outcome: consuming ReportMerger.Outcome, toEntryAt entryIndex: Int, recordAt index: Int,
        of batch: borrowing RecordBatch, in installations: inout InstallationBatch
    ) {
        switch consume outcome {
        case .rejected(let rejection): setAside(recordAt: index, of: batch, as: RejectedRecord(rejection))
        case .unchanged: outcomeCounts.unchanged += 1
        case .merged(let merged):
            if apply(merged, toEntryAt: entryIndex, in: &installations) {
                outcomeCounts.merged += 1
            } else {
                outcomeCounts.unchanged += 1
            }
        }
    }

    /// Takes over a changed installation: its entry, and the records for the output. Returns whether the installation
    /// is written to the topic.
    func apply(
        _ merged: consuming MergedInstallation, toEntryAt entryIndex: Int,
        in installations: inout InstallationBatch
    ) -> Bool {
        var merged = merged
        let isFirstChange = installations.entries[entryIndex].status != .changed
        guard installations.updateEntry(at: entryIndex, with: merged) else { return false }
        if isFirstChange { output.reserveSpace(for: merged.installation) }
        // Each element is moved out of its array, because reading it there would copy it.
        merged.events.reverse()
        merged.changes.reverse()
        while let event = merged.events.popLast() { output.add(event) }
        while let change = merged.changes.popLast() { output.add(change) }
        return true
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

    // MARK: Records for other partitions, and dead letters

    /// Sends a record to the dead letters, with its token sealed.
    func setAside(recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord) {
        outcomeCounts.rejected += 1
        let sealedValue: [UInt8]? =
            if let value = batch[index].value { deadLetterSeal.sealedCopy(of: value) } else { nil }
        stage.sendToDeadLetters(
            recordAt: index, of: batch, as: rejection, sealedValue: sealedValue, at: decidedAt)
    }

    /// Writes a report to the partition that it belongs in.
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

    /// Returns the key of a user's erasure. Such a report names its user.
    private func erasureKey(of report: Report) -> [UInt8] {
        ErasedUsers.key(app: report.app, user: report.user ?? "")
    }

    /// Copies an erasure to all partitions, because the user's installations are in all of them. The copies
    /// are acknowledged before the offset is committed. A duplicate copy changes nothing.
    private func copyToAllPartitions(
        recordAt index: Int, of batch: borrowing RecordBatch, report: Report, arrival: ReportArrival
    ) {
        let record = batch[index]
        guard let value = record.value else { return }
        let key = erasureKey(of: report)
        for partition in 0..<Int32(stage.layout.lanes) {
            forwarder.forward(value, key: key, arrival: arrival, to: partition, isCopyForAllPartitions: true)
        }
    }
}
