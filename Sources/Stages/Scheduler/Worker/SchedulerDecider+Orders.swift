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
    case end(AutomaticEnd)
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

    func committed(at now: Instant) { output.forEachChange { take($0, at: now) } }

    func conclude() { for (outcome, count) in outcomes { stage.metrics.records(outcome).add(count) } }

    private func take(_ change: SchedulerOutput.RowChange, at now: Instant) {
        stage.views.overlays[change.partition]?.recordCommit(of: change.key, as: change.record, at: now)
        // The transaction is committed, so the old entry is not needed any more, even after a crash.
        if let outdated = change.outdated {
            stage.views[change.partition]?.remove(key: outdated.storedKey.span)
        }
        if let entry = change.entry {
            stage.member.owned[change.partition]?.upcoming.add(entry)
            stage.member.owned[change.partition]?.unread.add(change.key)
        } else {
            stage.member.owned[change.partition]?.upcoming.remove(change.key)
        }
    }

    // MARK: Reading

    private func makeTable(_ partition: Int32) -> TransactionTimers {
        let part = stage.member.owned[partition]
        return TransactionTimers(
            committed: committedRows(of: partition),
            unread: part?.unread ?? UnreadTimers(),
            recentlyFired: part?.recentlyFired ?? RecentlyFiredTimers())
    }

    func committedRows(of partition: Int32) -> CommittedRows {
        CommittedRows(
            partition: partition, views: stage.views, reader: reader, log: stage.log,
            unreadableRowMessage: "a record of timers cannot be read; its timer does not fire")
    }

    private func read(
        _ record: borrowing Kafka.Record, of topic: SchedulerInputTopic
    ) throws(RejectedRecord) -> (record: ReadRecord, stamp: Int64) {
        guard let value = record.value else { throw .emptyValue(expected: "an order") }
        guard let stamp = record.timestamp else { throw .missingTimestamp }
        let read: ReadRecord
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
            try decide(part.next, of: batch, from: SchedulerInputTopic(index: part.topic), in: table)
            part.takeNext()
        }
        if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
    }

    private func decide(
        _ index: Int, of batch: borrowing RecordBatch, from topic: SchedulerInputTopic,
        in table: TransactionTimers
    ) throws(StoreError) {
        let read: ReadRecord
        let stamp: Int64
        do throws(RejectedRecord) {
            (read, stamp) = try self.read(batch[index], of: topic)
        } catch {
            outcomes["rejected", default: 0] += 1
            return stage.sendToDeadLetters(
                index, of: batch, as: error, at: stage.time.wall().milliseconds)
        }
        let offset = batch[index].offset
        var table = table
        switch read {
        case .request(.timeProbe): break
        case .request(.command(let order)):
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

extension RejectedRecord {
    fileprivate static func astray(_ home: Int32) -> RejectedRecord {
        RejectedRecord(
            code: "wrong_partition",
            reason:
                "the record belongs in partition \(home), with its owner's other orders; only the gateway writes orders"
        )
    }
}
