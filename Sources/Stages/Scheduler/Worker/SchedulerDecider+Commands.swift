internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

// The transaction that takes a batch of commands. A command is a record of `schedules` or `schedules.auto`, and changes
// the timers of its owner.

/// A decoded command.
private enum CommandRecord {
    case request(ScheduleRequest)
    case end(AutomaticEnd)
}

/// The outcomes of commands in metrics, beside those of `TimerCommands.Decision`.
private enum CommandOutcome {
    /// The command is in the dead letters.
    static let rejected = "rejected"
    /// An automatic end changes nothing, because a newer generation has its own.
    static let outdated = "outdated"
}

extension SchedulerDecider {
    /// The most rows that one transaction reads. The next transaction takes the rest.
    private static let rowsMax = 20_000

    // MARK: Transaction

    func prepare(for batch: borrowing PendingBatch) -> Bool {
        // The first record is enough, because both topics are stamped alike.
        if batch.records[0].isStampedByCluster { lastStampedAt = stage.time.now() }
        return true
    }

    func beginTransaction() {
        output.removeAll()
        outcomeCounts.removeAll()
        timersByPartition.removeAll()
    }

    var isOutputFull: Bool { output.isFull }
    var outputByteCount: Int { output.byteCount }

    func setAside(recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord) {
        outcomeCounts[CommandOutcome.rejected, default: 0] += 1
        stage.sendToDeadLetters(
            recordAt: index, of: batch, as: rejection, at: stage.time.wall().milliseconds)
    }

    func addChangedRows() {
        for table in timersByPartition.values { table.write(to: &output) }
        // The tables share storage with the partitions. If they still existed, the commit would copy that
        // storage when it adds to it.
        timersByPartition.removeAll()
    }

    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(by: producer, to: topics, onStep: stage.reportStep)
    }

    func applyCommittedChanges(at now: Instant) { output.forEachChange { apply($0, at: now) } }

    func publishOutcomes() {
        for (outcome, count) in outcomeCounts { stage.metrics.records(withOutcome: outcome).add(count) }
    }

    /// Takes over the committed change of a row into the overlay and the timers in memory.
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

    /// Makes the timers of a partition for one transaction.
    private func makeTable(for partition: Int32) -> TransactionTimers {
        let part = stage.member.assignedPartitions[partition]
        return TransactionTimers(
            committed: committedRows(of: partition),
            unreadTimers: part?.unreadTimers ?? UnreadTimers(),
            recentlyFiredTimers: part?.recentlyFiredTimers ?? RecentlyFiredTimers())
    }

    /// Returns the committed rows of a partition of `timers`.
    func committedRows(of partition: Int32) -> CommittedRows {
        CommittedRows(
            partition: partition, views: stage.views, reader: reader, log: stage.log,
            unreadableRowMessage: "a record of timers cannot be read; its timer does not fire")
    }

    /// Reads a command and its stamp.
    private func read(
        _ record: borrowing Kafka.Record, of topic: SchedulerInputTopic
    ) throws(RejectedRecord) -> (command: CommandRecord, stamp: Int64) {
        guard let value = record.value else { throw .emptyValue(expected: "a command") }
        guard let stamp = record.timestamp else { throw .missingTimestamp }
        let command: CommandRecord
        do throws(RecordDecodingError) {
            command = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                switch topic {
                case .schedules: .request(try unsafe ScheduleRequest.decode(bytes, with: reader))
                case .automaticEnds: .end(try unsafe AutomaticEnd.decode(bytes, with: reader))
                }
            }
        } catch {
            throw RejectedRecord(error)
        }
        try checkPartition(of: command, in: record.partition)
        return (command, stamp)
    }

    /// Throws if the command lies in a wrong partition, where its owner's timers are not known.
    private func checkPartition(of command: CommandRecord, in partition: Int32) throws(RejectedRecord) {
        let key: [UInt8]
        switch command {
        // A time probe is about no owner.
        case .request(.timeProbe): return
        case .request(.command(let command)):
            // Every partition has timers that can name an erased user.
            if command.action == .erase { return }
            key = command.key
        case .end(let end): key = end.key
        }
        let rightPartition = partitioner.partition(of: key)
        guard rightPartition == partition else { throw .wrongPartition(belongsIn: rightPartition) }
    }

    // MARK: Deciding

    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws {
        let table = timersByPartition[part.partition] ?? makeTable(for: part.partition)
        timersByPartition[part.partition] = table
        let takenBefore = part.takenCount
        while !part.isTaken, part.takenCount - takenBefore < recordsMax, !output.isFull,
            table.count < Self.rowsMax
        {
            try decide(
                recordAt: part.nextIndex, of: batch, from: SchedulerInputTopic(index: part.topic), in: table)
            part.markNextTaken()
        }
        if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
    }

    /// Decides one command, or sends it to the dead letters.
    private func decide(
        recordAt index: Int, of batch: borrowing RecordBatch, from topic: SchedulerInputTopic,
        in table: TransactionTimers
    ) throws(StoreError) {
        let command: CommandRecord
        let stamp: Int64
        do throws(RejectedRecord) {
            (command, stamp) = try read(batch[index], of: topic)
        } catch {
            return setAside(recordAt: index, of: batch, as: error)
        }
        let offset = batch[index].offset
        // `inout` needs a variable. The table is an object, so this copies only a reference.
        var table = table
        switch command {
        // The probe has done its work: its stamp is known.
        case .request(.timeProbe): break
        case .request(.command(let command)):
            let decision = try timerCommands.decide(command, stamp: stamp, offset: offset, in: &table)
            outcomeCounts[decision.outcome.rawValue, default: 0] += 1
            if let replyTo = command.replyTo { output.add(decision.answer, to: replyTo) }
            for progress in decision.progress { output.add(progress) }
        case .end(let end):
            switch try timerCommands.decide(end, stamp: stamp, offset: offset, in: &table) {
            case .set(let outcome): outcomeCounts[outcome.rawValue, default: 0] += 1
            case .outdated: outcomeCounts[CommandOutcome.outdated, default: 0] += 1
            case .keyTooLong(let byteCount):
                setAside(recordAt: index, of: batch, as: .keyTooLong(byteCount: byteCount))
            }
        }
    }
}

extension RejectedRecord {
    fileprivate static func keyTooLong(byteCount: Int) -> RejectedRecord {
        RejectedRecord(
            code: "key_too_long",
            reason:
                "app and group make a key of \(byteCount) bytes, and the limit is \(TimerCommands.keyBytesMax); only the planner writes automatic ends"
        )
    }

    fileprivate static func wrongPartition(belongsIn partition: Int32) -> RejectedRecord {
        RejectedRecord(
            code: "wrong_partition",
            reason:
                "the record belongs in partition \(partition), with its owner's other commands; only the gateway writes commands"
        )
    }
}
