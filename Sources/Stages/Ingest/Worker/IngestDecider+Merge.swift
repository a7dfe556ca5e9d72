internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The counts of a transaction's outcomes.
struct Tally {
    var merged = 0
    var unchanged = 0
    var rejected = 0
    var forwarded = 0
}

extension IngestDecider {
    func beginTransaction() {
        output.removeAll()
        tally = Tally()
        rosters.removeAll()
    }

    var isOutputFull: Bool { output.isFull }

    func finishTransaction() {
        for place in rosters.indices { rosters[place].write(to: &output) }
    }

    func send(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(
            by: producer, installations: topics[0], registry: topics[1], events: topics[2],
            onStep: stage.reached)
    }

    func committed(at now: Instant) {
        for roster in rosters {
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

    func conclude() {
        let counts = output.counts
        stage.metrics.produced("installations").add(counts.installations)
        stage.metrics.produced("registry").add(counts.registry)
        stage.metrics.produced("events").add(counts.events)
        stage.metrics.records("merged").add(tally.merged)
        stage.metrics.records("unchanged").add(tally.unchanged)
        stage.metrics.records("rejected").add(tally.rejected)
        stage.metrics.records("forwarded").add(tally.forwarded)
        metrics.forwarded.add(tally.forwarded)
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
                try unsafe Report.decode(bytes, with: merges.reader)
            }
        } catch {
            throw RejectedRecord(error)
        }
        report.writeKey(to: &key)
        guard key.count <= EnvironmentLimits.keyBytesMax else {
            throw .keyTooLong(bytes: key.count, max: EnvironmentLimits.keyBytesMax)
        }
        return (report, arrival)
    }

    private func reject(_ index: Int, of batch: borrowing RecordBatch, as misfit: RejectedRecord) {
        tally.rejected += 1
        let sealed: [UInt8]? =
            if let value = batch[index].value { letterSeal.sealedCopy(of: value) } else { nil }
        stage.sendToDeadLetters(index, of: batch, as: misfit, sealed: sealed, at: decidedAt)
    }

    // MARK: Deciding

    func decide(_ part: inout BatchPart, of batch: borrowing RecordBatch, recordsMax: Int) throws {
        guard let overlay = stage.views.overlays[part.partition], let view = stage.views[part.partition]
        else { return stage.member.giveUp("the view of a partition is not open", "") }
        var roster = InstallationBatch(partition: part.partition)
        let first = part.taken
        try view.read { picture throws(StoreError) in
            while !part.isTaken, part.taken - first < recordsMax, !output.isFull {
                try hear(part.next, of: batch, in: &roster, overlay: overlay, view: view, picture: picture)
                part.takeNext()
            }
        }
        if let newer = roster.newerRecord { throw StageFailure.newerRecord(newer.description) }
        rosters.append(roster)
    }

    private func hear(
        _ index: Int, of batch: borrowing RecordBatch, in roster: inout InstallationBatch, overlay: Overlay,
        view: TopicView, picture: borrowing ReadSnapshot
    ) throws(StoreError) {
        let report: Report
        let arrival: ReportArrival
        do throws(RejectedRecord) {
            (report, arrival) = try read(batch[index])
        } catch {
            return reject(index, of: batch, as: error)
        }
        let isEverywhere = report.isUserErasure ? batch[index].isCopyForAllPartitions : false
        if isEverywhere { key = ErasedUsers.key(app: report.app, user: report.user ?? "") }
        let murmur = Murmur2.hash(of: key.span)
        let home = Int32(Murmur2.partition(forHash: murmur, partitionCount: stage.layout.lanes))
        guard home == roster.partition || isEverywhere else {
            return forward(index, of: batch, arrival: arrival, to: home)
        }
        guard let merge = merges.merger(for: report.app, age: decidedAt - arrival.receivedAt) else {
            return reject(index, of: batch, as: .unknownApp(report.app))
        }
        var entry = roster.index(of: key, hash: murmur)
        if entry == nil {
            let key = HashedKey(key)
            let known =
                if let record = overlay[key] { remembered(record) } else {
                    try look(key, in: view, seen: picture, roster: &roster)
                }
            entry = roster.add(key, hash: murmur, installation: known)
        }
        let outcome = merge.merge(
            report, arrival: arrival, into: roster.entries[entry!].installation, now: decidedAt)
        if report.isUserErasure, !isEverywhere, case .merged = outcome {
            copyEverywhere(index, of: batch, report: report, arrival: arrival)
        }
        take(outcome, of: entry!, from: index, of: batch, in: &roster)
    }

    /// Copies an erasure to all partitions, because the user's installations are in all of them. The copies
    /// are acknowledged before the offset is committed. A duplicate copy changes nothing.
    private func copyEverywhere(
        _ index: Int, of batch: borrowing RecordBatch, report: Report, arrival: ReportArrival
    ) {
        let record = batch[index]
        guard let value = record.value else { return }
        let key = ErasedUsers.key(app: report.app, user: report.user ?? "")
        for partition in 0..<Int32(stage.layout.lanes) {
            forwarding.forward(value, key: key, arrival: arrival, to: partition, isCopyForAllPartitions: true)
        }
    }

    private func take(
        _ outcome: consuming ReportMerger.Outcome, of entry: Int, from index: Int,
        of batch: borrowing RecordBatch, in roster: inout InstallationBatch
    ) {
        switch consume outcome {
        case .rejected(let rejection): reject(index, of: batch, as: RejectedRecord(rejection))
        case .unchanged: tally.unchanged += 1
        case .merged(var merged):
            let isFirst = roster.entries[entry].status != .changed
            guard roster.updateEntry(at: entry, with: merged) else {
                tally.unchanged += 1
                return
            }
            tally.merged += 1
            if isFirst { output.reserveSpace(for: merged.installation) }
            // Each element is removed from its array, because reading it there would copy it.
            merged.events.reverse()
            merged.changes.reverse()
            while let event = merged.events.popLast() { output.add(event) }
            while let change = merged.changes.popLast() { output.add(change) }
        }
    }

    private func forward(
        _ index: Int, of batch: borrowing RecordBatch, arrival: ReportArrival, to home: Int32
    ) {
        let record = batch[index]
        guard let value = record.value else { return }
        if let sealed = letterSeal.sealedCopy(of: value) {
            forwarding.forward(sealed.span, key: key, arrival: arrival, to: home)
        } else {
            forwarding.forward(value, key: key, arrival: arrival, to: home)
        }
        tally.forwarded += 1
        stage.reached(.misroutedReportForwarded)
    }

    /// Decodes an installation of the overlay. Returns nil if it was forgotten.
    private func remembered(_ record: [UInt8]) -> Installation? {
        if record.isEmpty { return nil }
        output.countDecoded(bytes: record.count)
        guard let installation = try? Installation.decode(record, with: merges.reader) else {
            preconditionFailure("a record that this process has written cannot be read")
        }
        return installation
    }

    /// Returns the installation in the view.
    private func look(
        _ key: HashedKey, in view: TopicView, seen picture: borrowing ReadSnapshot,
        roster: inout InstallationBatch
    ) throws(StoreError) -> Installation? {
        var found: Installation?
        var newer: RecordDecodingError?
        try view.lookUp(key.bytes.span, in: picture) { value in
            output.countDecoded(bytes: value.count)
            do throws(RecordDecodingError) {
                found = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                    try unsafe Installation.decode(bytes, with: merges.reader)
                }
            } catch {
                // The checksum before the value is right, so the topic holds this record.
                if case .unknownVersion = error { newer = error }
                stage.log.error(
                    "a record of installations cannot be read; the next report of the installation makes a new one",
                    .field("partition", view.place.partition), .field("error", error))
            }
        }
        if let newer { roster.newerRecord = newer }
        return found
    }
}
