internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The content of one record of the two topics.
private enum ReadRecord {
    case request(ScheduleRequest)
    case end(EndSchedule)
}

extension SchedulerDecider {
    /// The most rows that one transaction reads. The next transaction takes the rest.
    private static let rowsMax = 20_000

    func begin(_ hand: borrowing BatchInHand) -> Bool {
        if hand.batch[0].isStampedByCluster { stampedAt = stage.time.now() }
        return true
    }

    func beginTransaction() {
        output.removeAll()
        outcomes.removeAll()
        tables.removeAll()
    }

    var isOutputFull: Bool { output.isFull }

    func finishTransaction() {
        for table in tables.values { table.write(to: &output) }
        // The tables share storage with the partitions. If they still existed, the commit would copy that
        // storage when it adds to it.
        tables.removeAll()
    }

    func send(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(by: producer, to: topics, onStep: stage.reached)
    }

    func committed(at now: Instant) { output.eachChange { take($0, at: now) } }

    func conclude() { for (outcome, count) in outcomes { stage.metrics.records(outcome).add(count) } }

    private func take(_ change: TimerOutput.Change, at now: Instant) {
        stage.views.overlays[change.partition]?.committed(change.key, change.record, at: now)
        // The transaction is committed, so the old entry is not needed any more, even after a crash.
        if let outdated = change.outdated { stage.views[change.partition]?.drop(outdated.stored.span) }
        if let entry = change.entry {
            stage.member.owned[change.partition]?.window.add(entry)
            stage.member.owned[change.partition]?.unread.add(change.key)
        } else {
            stage.member.owned[change.partition]?.window.remove(change.key)
        }
    }

    // MARK: Reading

    private func makeTable(_ partition: Int32) -> PartitionTimers {
        let part = stage.member.owned[partition]
        return PartitionTimers(
            over: committedRows(of: partition),
            unread: part?.unread ?? UnreadTimers(), lately: part?.lately ?? LatelyFired())
    }

    func committedRows(of partition: Int32) -> CommittedRows {
        CommittedRows(
            of: partition, in: stage.views, reader: reader, log: stage.log,
            complaint: "a record of timers cannot be read; its timer does not fire")
    }

    private func read(
        _ record: borrowing Kafka.Record, of topic: ScheduledTopic
    ) throws(Misfit) -> (record: ReadRecord, stamp: Int64) {
        guard let value = record.value else { throw .empty("an order") }
        guard let stamp = record.timestamp else { throw .timeless }
        let read: ReadRecord
        do throws(RecordError) {
            read = try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                switch topic {
                case .schedules: .request(try unsafe ScheduleRequest.decode(bytes, with: reader))
                case .auto: .end(try unsafe EndSchedule.decode(bytes, with: reader))
                }
            }
        } catch {
            throw Misfit(error)
        }
        let key: [UInt8]
        switch read {
        case .request(.question): return (read, stamp)
        case .request(.order(let order)): key = order.key
        case .end(let end): key = end.key
        }
        let home = lanes.partition(of: key)
        guard home == record.partition else { throw .astray(home) }
        return (read, stamp)
    }

    // MARK: Deciding

    func decide(_ part: inout BatchPart, of batch: borrowing RecordBatch, recordsMax: Int) throws {
        let table = tables[part.partition] ?? makeTable(part.partition)
        tables[part.partition] = table
        let first = part.taken
        while !part.isTaken, part.taken - first < recordsMax, !output.isFull, table.count < Self.rowsMax {
            try decide(part.next, of: batch, from: ScheduledTopic(index: part.topic), in: table)
            part.takeNext()
        }
        if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
    }

    private func decide(
        _ index: Int, of batch: borrowing RecordBatch, from topic: ScheduledTopic, in table: PartitionTimers
    ) throws(StoreError) {
        let read: ReadRecord
        let stamp: Int64
        do throws(Misfit) {
            (read, stamp) = try self.read(batch[index], of: topic)
        } catch {
            outcomes["rejected", default: 0] += 1
            return stage.sendToDeadLetters(
                index, of: batch, as: error, at: stage.time.wall().milliseconds)
        }
        let offset = batch[index].offset
        var table = table
        switch read {
        case .request(.question): break
        case .request(.order(let order)):
            let decision = try desk.decide(order, stamp: stamp, offset: offset, in: &table)
            outcomes[decision.outcome.rawValue, default: 0] += 1
            if let replyTo = order.replyTo { output.add(decision.answer, to: replyTo) }
            for progress in decision.progress { output.add(progress) }
        case .end(let end):
            let outcome = try desk.decide(end, stamp: stamp, offset: offset, in: &table)
            outcomes[outcome?.rawValue ?? "outdated", default: 0] += 1
        }
    }
}

extension Misfit {
    fileprivate static func astray(_ home: Int32) -> Misfit {
        Misfit(
            "wrong_partition",
            "the record belongs in partition \(home), with its owner's other orders; only the gateway writes orders"
        )
    }
}
