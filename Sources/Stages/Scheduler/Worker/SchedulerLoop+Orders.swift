internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The result of a transaction, apart from its records.
struct ScheduledWork {
    var offsets: [OffsetToCommit] = []
    var reached: [(partition: Int32, topic: ScheduledTopic, offset: Int64)] = []
    var outcomes: [String: Int] = [:]
    var orders = 0
}

/// The content of one record of the two topics.
private enum ReadRecord {
    case request(ScheduleRequest)
    case end(EndSchedule)
}

extension SchedulerLoop {
    /// The most rows that one transaction reads. The next transaction takes the rest.
    private static let rowsMax = 20_000

    /// Turns a batch of orders into one transaction, or into several if their output is large. An
    /// interruption leaves nothing behind except perhaps duplicate dead letters, because uncommitted orders
    /// are read again.
    func decide(epoch: Int) throws {
        onStep(.batchRead)
        metrics.inFlight.set(Double(batch.count))
        defer { metrics.inFlight.set(0) }
        var parts = sortOut()
        if let gap = findGap(parts) { return member.giveUp("the batch has a gap in its orders", gap) }
        while parts.contains(where: { !$0.isTaken }) {
            guard try decideNext(of: &parts, epoch) else { return }
        }
    }

    /// Runs one transaction. Returns false if everything that is not committed must be read again.
    private func decideNext(of parts: inout [BatchPart<ScheduledTopic>], _ epoch: Int) throws -> Bool {
        let began = Instant.now()
        output.removeAll()
        var work = ScheduledWork()
        var tables: [Int32: PartitionTimers] = [:]
        var left = bound.records
        for index in parts.indices where !parts[index].isTaken && left > 0 && !output.isFull {
            let partition = parts[index].partition
            let table = tables[partition] ?? makeTable(partition)
            tables[partition] = table
            let before = parts[index].taken
            guard try decide(&parts[index], max: left, in: table, into: &work) else { return false }
            left -= parts[index].taken - before
        }
        onStep(.lettersSent)
        if let problem = writer.acknowledge() {
            member.giveUp("orders could not be written to the dead letters", problem)
            return false
        }
        onStep(.lettersAcknowledged)
        for table in tables.values { table.write(to: &output) }
        // The tables share storage with the partitions. If they still existed, the commit would copy that
        // storage when it adds to it.
        tables.removeAll()
        onStep(.decided)
        // Captured before the transaction's first record. A later capture could belong to a newer membership.
        guard let group = consumer.captureGroup(forEpoch: epoch) else {
            member.giveUp("the partitions were reassigned", "")
            return false
        }
        guard try commit(work, group) else {
            bound.failed(work.orders)
            return false
        }
        bound.committed()
        metrics.batchSeconds.observe(Instant.now().seconds(since: began))
        return true
    }

    private func makeTable(_ partition: Int32) -> PartitionTimers {
        let part = member.owned[partition]
        return PartitionTimers(
            over: committedRows(of: partition),
            unread: part?.unread ?? UnreadTimers(), lately: part?.lately ?? LatelyFired())
    }

    func committedRows(of partition: Int32) -> CommittedRows {
        CommittedRows(
            of: partition, in: views, reader: reader, log: log,
            complaint: "a record of timers cannot be read; its timer does not fire")
    }

    /// Commits the transaction and applies its changes to overlay, window and positions.
    func commit(_ work: ScheduledWork, _ group: GroupMetadata) throws -> Bool {
        func onTransactionStep(_ step: StageTransaction.Step) {
            onStep(step == .begun ? .transactionBegun : .offsetsSent)
        }
        let outcome = try transaction.run(work.offsets, group, onStep: onTransactionStep) {
            producer, topics in
            output.send(by: producer, to: topics, onStep: onStep)
        }
        guard outcome == .committed else {
            member.startOverLater()
            return false
        }
        onStep(.committed)
        let now = Instant.now()
        output.eachChange { take($0, at: now) }
        for (partition, topic, offset) in work.reached {
            member.owned[partition]?.reached(offset, in: topic)
        }
        onStep(.overlaid)
        for (outcome, count) in work.outcomes { metrics.records(outcome).add(count) }
        return true
    }

    private func take(_ change: TimerOutput.Change, at now: Instant) {
        views.overlays[change.partition]?.committed(change.key, change.record, at: now)
        // The transaction is committed, so the old entry is not needed any more, even after a crash.
        if let outdated = change.outdated { views[change.partition]?.drop(outdated.stored.span) }
        if let entry = change.entry {
            member.owned[change.partition]?.window.add(entry)
            member.owned[change.partition]?.unread.add(change.key)
        } else {
            member.owned[change.partition]?.window.remove(change.key)
        }
    }

    // MARK: Reading

    private func sortOut() -> [BatchPart<ScheduledTopic>] {
        let now = Instant.now()
        let machine = wall().milliseconds
        for index in 0..<batch.count where batch[index].isStampedByCluster {
            if let stamp = batch[index].timestamp { clock.saw(stamp, wall: machine, at: now) }
        }
        return BatchPart.all(of: batch, serving: member.serves) { ScheduledTopic(index: $0) }
    }

    /// Only `schedules` is checked. The planner writes `schedules.auto` in transactions, and their markers
    /// leave gaps.
    private func findGap(_ parts: [BatchPart<ScheduledTopic>]) -> String? {
        var first: String?
        for part in parts where part.topic == .schedules {
            let offsets = part.offsets(in: batch)
            if let gap = member.owned[part.partition]?.positions[.schedules]?.newGap(in: offsets) {
                first = first ?? "before \(part.partition)/\(gap)"
            }
        }
        return first
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

    private func bury(
        _ index: Int, of batch: borrowing RecordBatch, from topic: ScheduledTopic, as misfit: Misfit
    ) {
        metrics.deadLetters(misfit.code).add()
        let record = batch[index]
        let letter = DeadLetter(
            stage: SchedulerService.name, code: misfit.code, reason: misfit.reason,
            topic: layout.name(topic.name), partition: record.partition, offset: record.offset,
            writtenAt: record.timestamp ?? 0, at: wall().milliseconds)
        writer.bury(record, as: letter)
    }

    // MARK: Deciding

    /// Decides orders of the part until the transaction is full. Returns false if the partition's view is
    /// unusable. Then the batch must be read again.
    private func decide(
        _ part: inout BatchPart<ScheduledTopic>, max: Int, in table: PartitionTimers,
        into work: inout ScheduledWork
    ) throws -> Bool {
        let first = part.taken
        do throws(StoreError) {
            while !part.isTaken, part.taken - first < max, !output.isFull, table.count < Self.rowsMax {
                try decide(part.next, from: part.topic, in: table, into: &work)
                part.takeNext()
            }
        } catch {
            try views.rebuild(part.partition, error)
            return false
        }
        if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
        guard part.taken > first else { return true }
        let next = part.end(in: batch)
        work.offsets.append(OffsetToCommit(topicPartition(part.partition, of: part.topic), offset: next))
        work.reached.append((part.partition, part.topic, next))
        return true
    }

    private func decide(
        _ index: Int, from topic: ScheduledTopic, in table: PartitionTimers, into work: inout ScheduledWork
    ) throws(StoreError) {
        work.orders += 1
        let read: ReadRecord
        let stamp: Int64
        do throws(Misfit) {
            (read, stamp) = try self.read(batch[index], of: topic)
        } catch {
            work.outcomes["rejected", default: 0] += 1
            return bury(index, of: batch, from: topic, as: error)
        }
        let offset = batch[index].offset
        var table = table
        switch read {
        case .request(.question): break
        case .request(.order(let order)):
            let decision = try desk.decide(order, stamp: stamp, offset: offset, in: &table)
            work.outcomes[decision.outcome.rawValue, default: 0] += 1
            if let replyTo = order.replyTo { output.add(decision.answer, to: replyTo) }
            for progress in decision.progress { output.add(progress) }
        case .end(let end):
            let outcome = try desk.decide(end, stamp: stamp, offset: offset, in: &table)
            work.outcomes[outcome?.rawValue ?? "outdated", default: 0] += 1
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
