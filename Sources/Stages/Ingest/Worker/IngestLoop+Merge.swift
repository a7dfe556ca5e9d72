internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The counts of a transaction's outcomes.
private struct Tally {
    var merged = 0
    var unchanged = 0
    var rejected = 0
    var forwarded = 0
}

extension IngestLoop {
    /// Merges a batch of reports in one transaction, or in several if their output is large. An interruption
    /// leaves nothing behind except duplicate dead letters, because everything uncommitted is read again.
    func merge(epoch: Int) throws {
        let now = decisionTime
        onStep(.batchRead)
        metrics.inFlight.set(Double(batch.count))
        defer { metrics.inFlight.set(0) }
        var (parts, oldest) = sortOut()
        if let gap = findGap(parts) {
            return member.giveUp("offsets are missing between the reports that were read", gap)
        }
        merges.refresh()
        metrics.oldestSeconds.set(Double(max(0, now - (oldest ?? now))) / 1000)
        while parts.contains(where: { !$0.isTaken }) {
            guard try mergeNext(of: &parts, epoch, now), try makeRoom() else { return }
        }
    }

    /// Runs one transaction. Returns false if everything uncommitted must be read again.
    private func mergeNext(of parts: inout [BatchPart], _ epoch: Int, _ now: Int64) throws -> Bool {
        let began = Instant.now()
        output.removeAll()
        var tally = Tally()
        var rosters: [Roster] = []
        var left = bound.records
        for place in parts.indices where !parts[place].isTaken && left > 0 && !output.isFull {
            guard let roster = try decide(&parts[place], reportsMax: left, at: now, tally: &tally) else {
                return false
            }
            left -= roster.reports
            rosters.append(roster)
        }
        onStep(.lettersSent)
        if let problem = writer.acknowledge() {
            member.giveUp("dead letters could not be written", problem)
            return false
        }
        onStep(.lettersAcknowledged)
        for place in rosters.indices { rosters[place].write(to: &output) }
        onStep(.merged)
        // The group is captured before the transaction's first record. A later capture could belong to a
        // newer membership, and then old work would be committed under it.
        guard let group = reports.captureGroup(forEpoch: epoch) else {
            member.giveUp("the partitions were reassigned", "")
            return false
        }
        let offsets = rosters.map {
            OffsetToCommit(Kafka.TopicPartition(reportsTopic, $0.partition), offset: $0.next)
        }
        guard try commit(offsets, group) else {
            bound.failed(rosters.reduce(0) { $0 + $1.reports })
            return false
        }
        bound.committed()
        let done = Instant.now()
        for roster in rosters { remember(roster, at: done) }
        onStep(.overlaid)
        count(tally, began)
        return true
    }

    private func remember(_ roster: Roster, at now: Instant) {
        for entry in roster.entries {
            if let record = entry.record {
                views.overlays[roster.partition]?.committed(entry.key, output.record(record), at: now)
            } else if entry.fate == .repeated, let installation = entry.installation {
                views.overlays[roster.partition]?.repeated(entry.key, installation.encoded(), at: now)
            }
        }
        member.owned[roster.partition]?.position.reached(roster.next)
    }

    func commit(_ offsets: [OffsetToCommit], _ group: GroupMetadata) throws -> Bool {
        func onTransactionStep(_ step: StageTransaction.Step) {
            onStep(step == .begun ? .transactionBegun : .offsetsSent)
        }
        let outcome = try transaction.run(offsets, group, onStep: onTransactionStep) { producer, topics in
            output.send(
                by: producer, installations: topics[0], registry: topics[1], events: topics[2],
                onStep: onStep)
        }
        guard outcome == .committed else {
            member.startOverLater()
            return false
        }
        onStep(.committed)
        let counts = output.counts
        metrics.produced("installations").add(counts.installations)
        metrics.produced("registry").add(counts.registry)
        metrics.produced("events").add(counts.events)
        return true
    }

    // MARK: Reading

    private func sortOut() -> (parts: [BatchPart], oldest: Int64?) {
        var parts: [BatchPart] = []
        var place = 0
        var oldest: Int64?
        for index in 0..<batch.count {
            let partition = batch[index].partition
            guard member.serves(partition) else { continue }
            if place >= parts.count || parts[place].partition != partition {
                place = parts.firstIndex { $0.partition == partition } ?? parts.count
                if place == parts.count { parts.append(BatchPart(partition: partition)) }
            }
            parts[place].places.append(index)
            if let time = batch[index].timestamp { oldest = min(oldest ?? time, time) }
        }
        return (parts, oldest)
    }

    /// Returns the first gap. All gaps of a batch count as known afterwards.
    private func findGap(_ parts: [BatchPart]) -> String? {
        var first: String?
        for part in parts {
            var offsets: [Int64] = []
            for place in part.places { offsets.append(batch[place].offset) }
            if let gap = member.owned[part.partition]?.position.newGap(in: offsets) {
                first = first ?? "before \(part.partition)/\(gap)"
            }
        }
        return first
    }

    /// The maximum size of a report in bytes. A larger record, mostly unused data, becomes a dead letter. A
    /// report in the wrong partition must still fit into its topic with the key and headers that forwarding
    /// adds.
    private static let reportBytesMax = 512 << 10

    private func read(_ record: borrowing Kafka.Record) throws(Misfit) -> (report: Report, arrival: Arrival) {
        guard let value = record.value else { throw .empty("a report") }
        guard let arrival = record.arrival else { throw .timeless }
        guard value.count <= Self.reportBytesMax else {
            throw .tooLarge(value.count, max: Self.reportBytesMax)
        }
        let report: Report
        do throws(RecordError) {
            report = try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe Report.decode(bytes, with: merges.reader)
            }
        } catch {
            throw Misfit(error)
        }
        report.writeKey(to: &key)
        guard key.count <= Limits.keyBytesMax else { throw .keyTooLong(key.count, max: Limits.keyBytesMax) }
        return (report, arrival)
    }

    private func bury(
        _ place: Int, of batch: borrowing RecordBatch, as misfit: Misfit, at now: Int64, tally: inout Tally
    ) {
        let record = batch[place]
        tally.rejected += 1
        metrics.deadLetters(misfit.code).add()
        let letter = DeadLetter(
            stage: "ingest", code: misfit.code, reason: misfit.reason, topic: reportsTopic,
            partition: record.partition, offset: record.offset, writtenAt: record.timestamp ?? 0, at: now)
        let sealed: [UInt8]? = if let value = record.value { letterSeal.sealed(value) } else { nil }
        writer.bury(record, sealed: sealed, as: letter)
    }

    // MARK: Deciding

    /// Takes as many reports of the part as the transaction allows. Returns nil if the partition's view is
    /// unusable and the batch must be read again.
    private func decide(
        _ part: inout BatchPart, reportsMax: Int, at now: Int64, tally: inout Tally
    ) throws -> Roster? {
        guard let overlay = views.overlays[part.partition], let view = views[part.partition] else {
            return nil
        }
        var roster = Roster(of: part.partition)
        do throws(StoreError) {
            try view.read { picture throws(StoreError) in
                while !part.isTaken, roster.reports < reportsMax, !output.isFull {
                    let place = part.places[part.taken]
                    part.taken += 1
                    try hear(
                        place, at: now, roster: &roster, tally: &tally, overlay: overlay, view: view,
                        picture: picture)
                    roster.heard(batch[place].offset)
                }
            }
        } catch {
            try views.rebuild(part.partition, error)
            return nil
        }
        if let newer = roster.newerRecord { throw StageFailure.newerRecord(newer.description) }
        return roster
    }

    private func hear(
        _ place: Int, at now: Int64, roster: inout Roster, tally: inout Tally, overlay: Overlay,
        view: TopicView, picture: borrowing Picture
    ) throws(StoreError) {
        let report: Report
        let arrival: Arrival
        do throws(Misfit) {
            (report, arrival) = try read(batch[place])
        } catch {
            bury(place, of: batch, as: error, at: now, tally: &tally)
            return
        }
        let isEverywhere = report.isErasureOfUser ? batch[place].isEverywhere : false
        if isEverywhere { key = Erasures.key(app: report.app, user: report.user ?? "") }
        let murmur = Murmur2.hash(key.span)
        let home = Int32(Murmur2.partition(ofHash: murmur, of: layout.lanes))
        guard home == roster.partition || isEverywhere else {
            forward(place, of: batch, arrival: arrival, to: home, tally: &tally)
            return
        }
        guard let merge = merges.merge(for: report.app, age: now - arrival.receivedAt) else {
            bury(place, of: batch, as: .unknownApp(report.app), at: now, tally: &tally)
            return
        }
        var entry = roster.index(of: key, murmur: murmur)
        if entry == nil {
            let key = KeyBytes(key)
            let known =
                if let record = overlay[key] { remembered(record) } else {
                    try look(key, in: view, seen: picture, roster: &roster)
                }
            entry = roster.add(key, murmur: murmur, known)
        }
        let outcome = merge.merge(report, arrival, into: roster.entries[entry!].installation, now: now)
        if report.isErasureOfUser, !isEverywhere, case .merged = outcome {
            copyEverywhere(place, of: batch, report: report, arrival: arrival)
        }
        take(outcome, of: entry!, from: place, at: now, roster: &roster, tally: &tally)
    }

    /// Copies an erasure to all partitions, because the user's installations are in all of them. The copies
    /// are acknowledged before the offset is committed. A duplicate copy changes nothing.
    private func copyEverywhere(
        _ place: Int, of batch: borrowing RecordBatch, report: Report, arrival: Arrival
    ) {
        let record = batch[place]
        guard let value = record.value else { return }
        let key = Erasures.key(app: report.app, user: report.user ?? "")
        for partition in 0..<Int32(layout.lanes) {
            forwarding.forward(value, key: key, arrival: arrival, to: partition, isEverywhere: true)
        }
    }

    private func take(
        _ outcome: consuming Merge.Outcome, of entry: Int, from place: Int, at now: Int64,
        roster: inout Roster,
        tally: inout Tally
    ) {
        switch consume outcome {
        case .rejected(let rejection): bury(place, of: batch, as: Misfit(rejection), at: now, tally: &tally)
        case .unchanged: tally.unchanged += 1
        case .merged(var merged):
            let isFirst = roster.entries[entry].fate != .changed
            guard roster.merged(entry, merged) else {
                tally.unchanged += 1
                return
            }
            tally.merged += 1
            if isFirst { output.expect(merged.installation) }
            // Each element is removed from its array, because reading it there would copy it.
            merged.events.reverse()
            merged.changes.reverse()
            while let event = merged.events.popLast() { output.add(event) }
            while let change = merged.changes.popLast() { output.add(change) }
        }
    }

    private func forward(
        _ place: Int, of batch: borrowing RecordBatch, arrival: Arrival, to home: Int32,
        tally: inout Tally
    ) {
        let record = batch[place]
        guard let value = record.value else { return }
        if let sealed = letterSeal.sealed(value) {
            forwarding.forward(sealed.span, key: key, arrival: arrival, to: home)
        } else {
            forwarding.forward(value, key: key, arrival: arrival, to: home)
        }
        tally.forwarded += 1
        onStep(.strayForwarded)
    }

    /// Decodes an installation of the overlay. Returns nil if it was forgotten.
    private func remembered(_ record: [UInt8]) -> Installation? {
        if record.isEmpty { return nil }
        output.hold(bytes: record.count)
        guard let installation = try? Installation.decode(record, with: merges.reader) else {
            preconditionFailure("a record that this process has written cannot be read")
        }
        return installation
    }

    /// Returns the installation in the view.
    private func look(
        _ key: KeyBytes, in view: TopicView, seen picture: borrowing Picture, roster: inout Roster
    ) throws(StoreError) -> Installation? {
        var found: Installation?
        var newer: RecordError?
        try view.look(key.bytes.span, in: picture) { value in
            output.hold(bytes: value.count)
            do throws(RecordError) {
                found = try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                    try unsafe Installation.decode(bytes, with: merges.reader)
                }
            } catch {
                // The checksum before the value is right, so the topic holds this record.
                if case .unknownVersion = error { newer = error }
                log.error(
                    "a record of installations cannot be read; the next report of the installation makes a new one",
                    .field("partition", view.place.partition), .field("error", error))
            }
        }
        if let newer { roster.newerRecord = newer }
        return found
    }

    private func count(_ tally: Tally, _ began: Instant) {
        metrics.records("merged").add(tally.merged)
        metrics.records("unchanged").add(tally.unchanged)
        metrics.records("rejected").add(tally.rejected)
        metrics.records("forwarded").add(tally.forwarded)
        metrics.forwarded.add(tally.forwarded)
        metrics.batchSeconds.observe(Instant.now().seconds(since: began))
    }
}
