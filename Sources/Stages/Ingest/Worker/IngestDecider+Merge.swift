internal import InstallationRecords
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The counts of a transaction's outcomes.
struct OutcomeCounts {
    var merged = 0
    var unchanged = 0
    var rejected = 0
    var forwarded = 0
}

extension IngestDecider {
    func beginTransaction() {
        output.removeAll()
        outcomeCounts = OutcomeCounts()
        installationBatches.removeAll()
    }

    var isOutputFull: Bool { output.isFull }

    func addChangedRows() {
        for place in installationBatches.indices { installationBatches[place].write(to: &output) }
    }

    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(
            by: producer, installations: topics[0], registry: topics[1], events: topics[2],
            onStep: stage.reportStep)
    }

    func applyCommittedChanges(at now: Instant) {
        for roster in installationBatches {
            for entry in roster.entries {
                if let record = entry.recordNumber {
                    stage.views.overlays[roster.partition]?.recordCommit(
                        of: entry.key, as: output.record(number: record), at: now)
                } else if entry.status == .repeated, let installation = entry.installation {
                    stage.views.overlays[roster.partition]?.recordRepetition(
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

    /// The maximum size of a report in bytes. A larger record, mostly unused data, becomes a dead letter. A
    /// report in the wrong partition must still fit into its topic with the key and headers that forwarding
    /// adds.
    private static let reportBytesMax = 512 << 10

    private func read(_ record: borrowing Kafka.Record) throws(RejectedRecord) -> (
        report: Report, arrival: ReportArrival
    ) {
        guard let value = record.value else { throw .emptyValue(expected: "a report") }
        guard let arrival = record.arrival else { throw .missingTimestamp }
        guard value.count <= Self.reportBytesMax else {
            throw .tooLarge(bytes: value.count, max: Self.reportBytesMax)
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
            throw .keyTooLong(bytes: reportKey.count, max: EnvironmentLimits.keyBytesMax)
        }
        return (report, arrival)
    }

    private func reject(recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord) {
        outcomeCounts.rejected += 1
        let sealed: [UInt8]? =
            if let value = batch[index].value { deadLetterSeal.sealedCopy(of: value) } else { nil }
        stage.sendToDeadLetters(recordAt: index, of: batch, as: rejection, sealedValue: sealed, at: decidedAt)
    }

    // MARK: Deciding

    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws {
        guard let overlay = stage.views.overlays[part.partition], let view = stage.views[part.partition]
        else {
            return stage.member.startOverLater(logging: "the view of a partition is not open", reason: "")
        }
        var roster = InstallationBatch(partition: part.partition)
        let first = part.takenCount
        try view.withSnapshot { picture throws(StoreError) in
            while !part.isTaken, part.takenCount - first < recordsMax, !output.isFull {
                try merge(
                    recordAt: part.nextIndex, of: batch, in: &roster, overlay: overlay, view: view,
                    snapshot: picture)
                part.markNextTaken()
            }
        }
        if let newer = roster.newerRecord { throw StageFailure.newerRecord(newer.description) }
        installationBatches.append(roster)
    }

    private func merge(
        recordAt index: Int, of batch: borrowing RecordBatch, in roster: inout InstallationBatch,
        overlay: Overlay,
        view: TopicView, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        let report: Report
        let arrival: ReportArrival
        do throws(RejectedRecord) {
            (report, arrival) = try read(batch[index])
        } catch {
            return reject(recordAt: index, of: batch, as: error)
        }
        let isEverywhere = report.isUserErasure ? batch[index].isCopyForAllPartitions : false
        if isEverywhere { reportKey = ErasedUsers.key(app: report.app, user: report.user ?? "") }
        let murmur = Murmur2.hash(of: reportKey.span)
        let home = Int32(Murmur2.partition(forHash: murmur, partitionCount: stage.layout.lanes))
        guard home == roster.partition || isEverywhere else {
            return forward(recordAt: index, of: batch, arrival: arrival, to: home)
        }
        guard let merge = mergers.merger(for: report.app, age: decidedAt - arrival.receivedAt) else {
            return reject(recordAt: index, of: batch, as: .unknownApp(report.app))
        }
        var entry = roster.index(of: reportKey, hash: murmur)
        if entry == nil {
            let key = HashedKey(reportKey)
            let known =
                if let record = overlay[key] { decodeInstallation(record) } else {
                    try lookUp(key, in: view, snapshot: snapshot, installations: &roster)
                }
            entry = roster.add(key: key, hash: murmur, installation: known)
        }
        let outcome = merge.merge(
            report, arrival: arrival, into: roster.entries[entry!].installation, now: decidedAt)
        if report.isUserErasure, !isEverywhere, case .merged = outcome {
            copyToAllPartitions(recordAt: index, of: batch, report: report, arrival: arrival)
        }
        apply(outcome, toEntry: entry!, recordAt: index, of: batch, in: &roster)
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
        of batch: borrowing RecordBatch, in roster: inout InstallationBatch
    ) {
        switch consume outcome {
        case .rejected(let rejection): reject(recordAt: index, of: batch, as: RejectedRecord(rejection))
        case .unchanged: outcomeCounts.unchanged += 1
        case .merged(var merged):
            let isFirst = roster.entries[entry].status != .changed
            guard roster.updateEntry(at: entry, with: merged) else {
                outcomeCounts.unchanged += 1
                return
            }
            outcomeCounts.merged += 1
            if isFirst { output.reserveSpace(for: merged.installation) }
            // Each element is removed from its array, because reading it there would copy it.
            merged.events.reverse()
            merged.changes.reverse()
            while let event = merged.events.popLast() { output.add(event) }
            while let change = merged.changes.popLast() { output.add(change) }
        }
    }

    private func forward(
        recordAt index: Int, of batch: borrowing RecordBatch, arrival: ReportArrival, to home: Int32
    ) {
        let record = batch[index]
        guard let value = record.value else { return }
        if let sealed = deadLetterSeal.sealedCopy(of: value) {
            forwarder.forward(sealed.span, key: reportKey, arrival: arrival, to: home)
        } else {
            forwarder.forward(value, key: reportKey, arrival: arrival, to: home)
        }
        outcomeCounts.forwarded += 1
        stage.reportStep(.misroutedReportForwarded)
    }

    /// Decodes an installation of the overlay. Returns nil if it was forgotten.
    private func decodeInstallation(_ record: [UInt8]) -> Installation? {
        if record.isEmpty { return nil }
        output.countDecoded(bytes: record.count)
        guard let installation = try? Installation.decode(record, with: mergers.reader) else {
            preconditionFailure("a record that this process has written cannot be read")
        }
        return installation
    }

    /// Returns the installation in the view.
    private func lookUp(
        _ key: HashedKey, in view: TopicView, snapshot picture: borrowing ReadSnapshot,
        installations: inout InstallationBatch
    ) throws(StoreError) -> Installation? {
        var found: Installation?
        var newer: RecordDecodingError?
        try view.lookUp(key.bytes.span, in: picture) { value in
            output.countDecoded(bytes: value.count)
            do throws(RecordDecodingError) {
                found = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                    try unsafe Installation.decode(bytes, with: mergers.reader)
                }
            } catch {
                // The checksum before the value is right, so the topic holds this record.
                if case .unknownVersion = error { newer = error }
                stage.log.error(
                    "a record of installations cannot be read; the next report of the installation makes a new one",
                    .field("partition", view.topicPartition.partition), .field("error", error))
            }
        }
        if let newer { installations.newerRecord = newer }
        return found
    }
}
