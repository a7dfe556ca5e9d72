internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The content of one record of the two topics.
private enum OrderRecord {
    case request(ScheduleRequest)
    case end(AutomaticEnd)
}

extension SchedulerDecider {
    /// The most rows that one transaction reads. The next transaction takes the rest.
    private static let rowsMax = 20_000

    func prepare(for batch: borrowing PendingBatch) -> Bool {
        if batch.records[0].isStampedByCluster { lastStampedAt = stage.time.now() }
        return true
    }

    func beginTransaction() {
        output.removeAll()
        outcomeCounts.removeAll()
        tables.removeAll()
    }

    var isOutputFull: Bool { output.isFull }

    func addChangedRows() {
        for table in tables.values { table.write(to: &output) }
        // The tables share storage with the partitions. If they still existed, the commit would copy that
        // storage when it adds to it.
        tables.removeAll()
    }

    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(by: producer, to: topics, onStep: stage.reportStep)
    }

    func applyCommittedChanges(at now: Instant) { output.forEachChange { apply($0, at: now) } }

    func publishOutcomes() {
        for (outcome, count) in outcomeCounts { stage.metrics.records(withOutcome: outcome).add(count) }
    }

    private func apply(_ change: SchedulerOutput.RowChange, at now: Instant) {
        stage.views.overlays[change.partition]?.recordCommit(of: change.key, as: change.record, at: now)
        // The transaction is committed, so the old entry is not needed any more, even after a crash.
        if let outdated = change.outdated {
            stage.views[change.partition]?.remove(key: outdated.storedKey.span)
        }
        if let entry = change.entry {
            stage.member.assignedPartitions[change.partition]?.upcomingTimers.add(entry)
            stage.member.assignedPartitions[change.partition]?.unreadTimers.add(change.key)
        } else {
            stage.member.assignedPartitions[change.partition]?.upcomingTimers.remove(change.key)
        }
    }

    // MARK: Reading

    private func makeTable(for partition: Int32) -> TransactionTimers {
        let part = stage.member.assignedPartitions[partition]
        return TransactionTimers(
            committed: committedRows(of: partition),
            unreadTimers: part?.unreadTimers ?? UnreadTimers(),
            recentlyFiredTimers: part?.recentlyFiredTimers ?? RecentlyFiredTimers())
    }

    func committedRows(of partition: Int32) -> CommittedRows {
        CommittedRows(
            partition: partition, views: stage.views, reader: reader, log: stage.log,
            unreadableRowMessage: "a record of timers cannot be read; its timer does not fire")
    }

    private func read(
        _ record: borrowing Kafka.Record, of topic: SchedulerInputTopic
    ) throws(RejectedRecord) -> (record: OrderRecord, stamp: Int64) {
        guard let value = record.value else { throw .emptyValue(expected: "an order") }
        guard let stamp = record.timestamp else { throw .missingTimestamp }
        let read: OrderRecord
        do throws(RecordDecodingError) {
            read = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                switch topic {
                case .schedules: .request(try unsafe ScheduleRequest.decode(bytes, with: reader))
                case .auto: .end(try unsafe AutomaticEnd.decode(bytes, with: reader))
                }
            }
        } catch {
            throw RejectedRecord(error)
        }
        let key: [UInt8]
        switch read {
        case .request(.timeProbe): return (read, stamp)
        case .request(.command(let order)): key = order.key
        case .end(let end): key = end.key
        }
        let home = partitioner.partition(of: key)
        guard home == record.partition else { throw .wrongPartition(belongsIn: home) }
        return (read, stamp)
    }

    // MARK: Deciding

    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws {
        let table = tables[part.partition] ?? makeTable(for: part.partition)
        tables[part.partition] = table
        let first = part.takenCount
        while !part.isTaken, part.takenCount - first < recordsMax, !output.isFull, table.count < Self.rowsMax
        {
            try decide(
                recordAt: part.nextIndex, of: batch, from: SchedulerInputTopic(index: part.topic), in: table)
            part.markNextTaken()
        }
        if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
    }

    private func decide(
        recordAt index: Int, of batch: borrowing RecordBatch, from topic: SchedulerInputTopic,
        in table: TransactionTimers
    ) throws(StoreError) {
        let read: OrderRecord
        let stamp: Int64
        do throws(RejectedRecord) {
            (read, stamp) = try self.read(batch[index], of: topic)
        } catch {
            outcomeCounts["rejected", default: 0] += 1
            return stage.sendToDeadLetters(
                recordAt: index, of: batch, as: error, at: stage.time.wall().milliseconds)
        }
        let offset = batch[index].offset
        var table = table
        switch read {
        case .request(.timeProbe): break
        case .request(.command(let order)):
            let decision = try processor.decide(order, stamp: stamp, offset: offset, in: &table)
            outcomeCounts[decision.outcome.rawValue, default: 0] += 1
            if let replyTo = order.replyTo { output.add(decision.answer, to: replyTo) }
            for progress in decision.progress { output.add(progress) }
        case .end(let end):
            let outcome = try processor.decide(end, stamp: stamp, offset: offset, in: &table)
            outcomeCounts[outcome?.rawValue ?? "outdated", default: 0] += 1
        }
    }
}

extension RejectedRecord {
    fileprivate static func wrongPartition(belongsIn home: Int32) -> RejectedRecord {
        RejectedRecord(
            code: "wrong_partition",
            reason:
                "the record belongs in partition \(home), with its owner's other orders; only the gateway writes orders"
        )
    }
}
