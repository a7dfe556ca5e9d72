internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Store
internal import Telemetry
internal import Topics

/// A report that was read, and where.
private struct Arrival {
    var index: Int
    var report: Report
    var key: [UInt8]
    var receivedAt: Int64
}

/// What the reports of one partition make of their installations.
private struct Decided {
    /// What the topic gets.
    var changed: [[UInt8]: Known] = [:]
    /// What was repeated, and written down before in this grain: new are its times alone.
    var repeated: [[UInt8]: Known] = [:]
}

/// What a batch came to.
private struct Tally {
    var merged = 0
    var unchanged = 0
    var rejected = 0
    var forwarded = 0
}

extension IngestLoop {
    /// From a batch of reports to one transaction. Whatever stops it half-way leaves nothing behind but,
    /// perhaps, doubled dead letters: the batch is read again.
    func merge(epoch: Int) throws {
        let began = Instant.now()
        let now = WallTime.now().milliseconds
        onStep(.batchRead)
        metrics.inFlight.set(Double(batch.count))
        defer { metrics.inFlight.set(0) }
        output.removeAll()
        let gaps = findGaps()
        for gap in gaps { owned[gap.partition]?.knownGaps.insert(gap.offset) }
        if let gap = gaps.first {
            return giveUp("reports are missing in what was read", "before \(gap.partition)/\(gap.offset)")
        }
        merger.refresh()
        var tally = Tally()
        let (arrivals, next, oldest) = readBatch(now, &tally)
        metrics.oldestSeconds.set(Double(max(0, now - oldest)) / 1000)
        var decided: [Int32: Decided] = [:]
        for (partition, list) in arrivals {
            guard let result = try decide(partition, list, now, &tally) else { return }
            decided[partition] = result
        }
        onStep(.lettersSent)
        if let problem = writer.acknowledge() { return giveUp("reports could not be set aside", problem) }
        onStep(.lettersAcknowledged)
        for (partition, decided) in decided {
            for (key, installation) in decided.changed {
                output.add(installation.installation, key: key, partition: partition)
            }
        }
        onStep(.merged)
        // Captured before the transaction's first record: what is asked later could be a newer membership's.
        guard let group = reports.captureGroup(forEpoch: epoch) else {
            return giveUp("the partitions are another's by now", "")
        }
        let offsets = next.map {
            OffsetToCommit(Kafka.TopicPartition(reportsTopic, $0.key), offset: $0.value)
        }
        guard try commit(offsets, group) else { return }
        let done = Instant.now()
        for (partition, decided) in decided {
            for (key, installation) in decided.changed {
                owned[partition]?.overlay.committed(key, installation, at: done)
            }
            for (key, installation) in decided.repeated {
                owned[partition]?.overlay.repeated(key, installation)
            }
        }
        for (partition, offset) in next { owned[partition]?.reached(offset) }
        onStep(.overlaid)
        if repeatedRows > Self.repeatedRowsMax { try keepRepeated() }
        count(tally, began)
    }

    func commit(_ offsets: [OffsetToCommit], _ group: GroupMetadata) throws -> Bool {
        let outcome = try transaction.run(offsets, group, onStep: onStep) { producer, topics in
            output.send(
                by: producer, installations: topics[0], registry: topics[1], events: topics[2],
                onStep: onStep)
        }
        guard outcome == .committed else {
            startOverLater()
            return false
        }
        onStep(.committed)
        let counts = output.counts
        metrics.produced("installations").add(counts.installations)
        metrics.produced("registry").add(counts.registry)
        metrics.produced("events").add(counts.events)
        return true
    }

    private func giveUp(_ message: StaticString, _ reason: String) {
        log.warning(message, .field("reason", reason))
        startOverLater()
    }

    // MARK: Reading

    /// Plain writers leave no gaps between offsets. Where one shows, something was skipped on the way to
    /// us, and reading again finds it; a gap that is still there then is the topic's own.
    ///
    /// All of a batch at once: known one by one, two of the topic's own would take turns for ever.
    private func findGaps() -> [(partition: Int32, offset: Int64)] {
        var gaps: [(partition: Int32, offset: Int64)] = []
        var expected: [Int32: Int64] = [:]
        for index in 0..<batch.count {
            let partition = batch[index].partition
            let offset = batch[index].offset
            if let wanted = expected[partition] ?? owned[partition]?.committed, offset != wanted,
                owned[partition]?.knownGaps.contains(offset) == false
            {
                gaps.append((partition, offset))
            }
            expected[partition] = offset + 1
        }
        return gaps
    }

    /// Bytes of a report; what is larger is mostly what nobody reads, and goes to the dead letters. One
    /// that lies in a wrong partition must still fit into its topic with the key and header it then gets.
    private static let reportBytesMax = 512 << 10

    private func readBatch(
        _ now: Int64, _ tally: inout Tally
    ) -> (arrivals: [Int32: [Arrival]], next: [Int32: Int64], oldest: Int64) {
        var arrivals: [Int32: [Arrival]] = [:]
        var next: [Int32: Int64] = [:]
        var oldest = now
        for index in 0..<batch.count {
            let record = batch[index]
            let partition = record.partition
            next[partition] = record.offset + 1
            if let time = record.timestamp { oldest = min(oldest, time) }
            do throws(Misfit) {
                let arrival = try read(batch[index], index)
                let home = Int32(Murmur2.partition(of: arrival.key.span, of: layout.lanes))
                if home == partition {
                    arrivals[partition, default: []].append(arrival)
                } else if let value = record.value {
                    writer.forward(value, key: arrival.key, receivedAt: arrival.receivedAt, to: home)
                    tally.forwarded += 1
                    onStep(.strayForwarded)
                }
            } catch {
                bury(batch[index], error, now, &tally)
            }
        }
        return (arrivals, next, oldest)
    }

    private func read(_ record: borrowing Kafka.Record, _ index: Int) throws(Misfit) -> Arrival {
        guard let value = record.value else { throw .empty }
        guard let stampedAt = record.timestamp else { throw .timeless }
        guard value.count <= Self.reportBytesMax else {
            throw .tooLarge(value.count, max: Self.reportBytesMax)
        }
        let report: Report
        do throws(RecordError) {
            report = try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe Report.decode(bytes, with: merger.reader)
            }
        } catch {
            throw Misfit(error)
        }
        let key = report.key
        guard key.count <= Limits.keyBytesMax else { throw .keyTooLong(key.count, max: Limits.keyBytesMax) }
        let receivedAt = min(stampedAt, record.forwardedTime ?? stampedAt)
        return Arrival(index: index, report: report, key: key, receivedAt: receivedAt)
    }

    private func bury(
        _ record: borrowing Kafka.Record, _ misfit: Misfit, _ now: Int64, _ tally: inout Tally
    ) {
        tally.rejected += 1
        metrics.deadLetters(misfit.code).add()
        let letter = DeadLetter(
            stage: "ingest", code: misfit.code, reason: misfit.reason, topic: reportsTopic,
            partition: record.partition, offset: record.offset, writtenAt: record.timestamp ?? 0, at: now)
        writer.bury(record, as: letter)
    }

    // MARK: Deciding

    /// Nil when the partition's view turned out to be unusable, and the batch has to be read again.
    private func decide(
        _ partition: Int32, _ arrivals: [Arrival], _ now: Int64, _ tally: inout Tally
    ) throws -> Decided? {
        guard var known = try lookUp(partition, arrivals) else { return nil }
        var decided = Decided()
        for arrival in arrivals {
            guard let merge = merger.merge(for: arrival.report.app, receivedAt: arrival.receivedAt) else {
                bury(batch[arrival.index], .unknownApp(arrival.report.app), now, &tally)
                continue
            }
            let outcome = merge.merge(
                arrival.report, receivedAt: arrival.receivedAt, into: known[arrival.key]?.installation,
                now: now)
            switch outcome {
            case .rejected(let rejection): bury(batch[arrival.index], Misfit(rejection), now, &tally)
            case .unchanged: tally.unchanged += 1
            case .merged(let merged):
                let next = Known(merged.installation)
                known[arrival.key] = next
                if !merged.isDue, decided.changed[arrival.key] == nil {
                    tally.unchanged += 1
                    decided.repeated[arrival.key] = next
                    continue
                }
                tally.merged += 1
                decided.changed[arrival.key] = next
                decided.repeated[arrival.key] = nil
                for change in merged.changes { output.add(change.row, at: change.key) }
                for event in merged.events {
                    output.add(event, key: arrival.key, partition: partition)
                }
            }
        }
        return decided
    }

    /// What is known of the installations that the reports are about.
    private func lookUp(
        _ partition: Int32, _ arrivals: [Arrival]
    ) throws -> [[UInt8]: Known]? {
        guard let own = owned[partition], let view = files[partition] else { return nil }
        var known: [[UInt8]: Known] = [:]
        known.reserveCapacity(arrivals.count)
        var asked: [[UInt8]] = []
        for arrival in arrivals where known[arrival.key] == nil {
            if let row = own.overlay[arrival.key] {
                known[arrival.key] = row
            } else {
                asked.append(arrival.key)
            }
        }
        var unknownVersion: RecordError?
        do throws(StoreError) {
            try view.look(asked) { index, value in
                do throws(RecordError) {
                    let row = try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                        try unsafe Installation.decode(bytes, with: merger.reader)
                    }
                    known[asked[index]] = Known(row)
                } catch {
                    // The sum before the value is right, so this is what the topic holds.
                    if case .unknownVersion = error { unknownVersion = error }
                    log.error(
                        "a record of installations cannot be read; its reports begin a new one",
                        .field("partition", partition), .field("error", error))
                }
            }
        } catch {
            try rebuild(partition, error)
            return nil
        }
        if let unknownVersion { throw IngestFailure.newerRecord(unknownVersion.description) }
        return known
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
