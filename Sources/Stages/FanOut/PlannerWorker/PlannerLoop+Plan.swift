internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The result of a transaction, apart from its records.
struct PlannedWork {
    var offsets: [OffsetToCommit] = []
    var reached: [(partition: Int32, topic: PlannedTopic, offset: Int64)] = []
    var notes: [SupersededNote] = []
    var verdicts: [Progress.Verdict: Int] = [:]
    var sends = 0
    var misfits = 0

    mutating func add(_ plan: Plan) {
        if let note = plan.note { notes.append(note) }
        for progress in plan.progress {
            if case .verdict(let part) = progress.part { verdicts[part.verdict, default: 0] += 1 }
        }
    }
}

extension PlannerLoop {
    /// The most rows that one transaction reads. The next transaction takes the rest.
    private static let rowsMax = 20_000

    /// Turns a batch of sends into one transaction, or into several if their output is large. An interruption
    /// leaves nothing behind except perhaps duplicate dead letters, because uncommitted sends are read again.
    func plan(epoch: Int) throws {
        onStep(.batchRead)
        metrics.shared.inFlight.set(Double(batch.count))
        defer { metrics.shared.inFlight.set(0) }
        var parts = sortOut()
        if let gap = findGap(parts) { return member.giveUp("the batch has a gap in its sends", gap) }
        apps.refresh()
        while parts.contains(where: { !$0.isTaken }) {
            guard try planNext(of: &parts, epoch) else { return }
        }
    }

    /// Runs one transaction. Returns false if everything that is not committed must be read again.
    private func planNext(of parts: inout [BatchPart<PlannedTopic>], _ epoch: Int) throws -> Bool {
        let began = Instant.now()
        output.removeAll()
        var work = PlannedWork()
        var tables: [Int32: PartitionTable] = [:]
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
            member.giveUp("sends could not be written to the dead letters", problem)
            return false
        }
        onStep(.lettersAcknowledged)
        for table in tables.values { table.write(to: &output) }
        onStep(.planned)
        // Captured before the transaction's first record. A later capture could belong to a newer membership.
        guard let group = consumer.captureGroup(forEpoch: epoch) else {
            member.giveUp("the partitions were reassigned", "")
            return false
        }
        guard try commit(work, group) else {
            bound.failed(work.sends)
            return false
        }
        bound.committed()
        metrics.shared.batchSeconds.observe(Instant.now().seconds(since: began))
        return true
    }

    func makeTable(_ partition: Int32) -> PartitionTable {
        PartitionTable(of: partition, in: views, reader: reader, log: log)
    }

    /// Commits the transaction, updates overlay and positions, and sends the notes.
    func commit(_ work: PlannedWork, _ group: GroupMetadata) throws -> Bool {
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
        output.eachRow { partition, key, record in
            views.overlays[partition]?.committed(key, record, at: now)
        }
        for (partition, topic, offset) in work.reached {
            member.owned[partition]?.positions[topic]?.reached(offset)
        }
        onStep(.overlaid)
        for note in work.notes { notes.send(note) }
        onStep(.noted)
        count(work)
        return true
    }

    private func count(_ work: PlannedWork) {
        metrics.shared.records("planned").add(work.sends - work.misfits)
        metrics.shared.records("rejected").add(work.misfits)
        for (verdict, count) in work.verdicts { metrics.verdicts(verdict.rawValue).add(count) }
        for target in PlanOutput.Target.allCases where output.count(target) > 0 {
            metrics.shared.produced(target.topic.rawValue).add(output.count(target))
        }
        metrics.notes.add(work.notes.count)
    }

    // MARK: Reading

    private func sortOut() -> [BatchPart<PlannedTopic>] {
        let now = Instant.now()
        var oldest: Int64?
        for index in 0..<batch.count {
            guard let stamp = batch[index].timestamp else { continue }
            clock.saw(stamp, at: now)
            if let time = clock.time(at: now)?.milliseconds { oldest = max(oldest ?? 0, time - stamp) }
        }
        metrics.shared.oldestSeconds.set(Double(oldest ?? 0) / 1000)
        return BatchPart.all(of: batch, serving: member.serves) { PlannedTopic(index: $0) }
    }

    /// Only `sends` is checked. The scheduler writes `sends.timed` in transactions, and their markers leave
    /// gaps.
    private func findGap(_ parts: [BatchPart<PlannedTopic>]) -> String? {
        var first: String?
        for part in parts where part.topic == .sends {
            let offsets = part.offsets(in: batch)
            if let gap = member.owned[part.partition]?.positions[.sends]?.newGap(in: offsets) {
                first = first ?? "before \(part.partition)/\(gap)"
            }
        }
        return first
    }

    private func read(_ record: borrowing Kafka.Record) throws(Misfit) -> (request: SendRequest, stamp: Int64)
    {
        guard let value = record.value else { throw .empty("a send") }
        guard let stamp = record.timestamp else { throw .timeless }
        let request: SendRequest
        do throws(RecordError) {
            request = try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe SendRequest.decode(bytes, with: reader)
            }
        } catch {
            throw Misfit(error)
        }
        guard let key = request.groupKey?.bytes else { throw .keyless }
        guard key.count <= Limits.keyBytesMax else { throw .keyTooLong(key.count) }
        if case .send(let send) = request, send.fingerprint != nil {
            let bytes = SeenSend.key(app: send.app, send: send.id).count
            guard bytes <= Limits.keyBytesMax else { throw .keyTooLong(bytes) }
        }
        let home = lanes.partition(of: key)
        guard home == record.partition else { throw .astray(home) }
        return (request, stamp)
    }

    private func bury(
        _ index: Int, of batch: borrowing RecordBatch, from topic: PlannedTopic, as misfit: Misfit
    ) {
        metrics.shared.deadLetters(misfit.code).add()
        let now = clock.decisionTime(at: .now()) ?? 0
        let record = batch[index]
        let letter = DeadLetter(
            stage: FanOutService.name, code: misfit.code, reason: misfit.reason,
            topic: layout.name(topic.name),
            partition: record.partition, offset: record.offset, writtenAt: record.timestamp ?? 0, at: now)
        writer.bury(record, as: letter)
    }

    // MARK: Deciding

    /// Plans sends of the part until the transaction is full. Returns false if the partition's view is
    /// unusable. Then the batch must be read again.
    private func decide(
        _ part: inout BatchPart<PlannedTopic>, max: Int, in table: PartitionTable,
        into work: inout PlannedWork
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
        _ index: Int, from topic: PlannedTopic, in table: PartitionTable, into work: inout PlannedWork
    ) throws(StoreError) {
        work.sends += 1
        let request: SendRequest
        var stamp: Int64
        do throws(Misfit) {
            (request, stamp) = try read(batch[index])
        } catch {
            work.misfits += 1
            return bury(index, of: batch, from: topic, as: error)
        }
        let time = clock.time(at: .now())?.milliseconds ?? stamp
        // A low timestamp is safe. A high one makes phones ignore updates for as long as it is ahead.
        stamp = min(stamp, time)
        let age = time - stamp
        var app: App?
        if case .send(let send) = request { app = apps.app(send.app, age: age) }
        var table = table
        let plan = try planner.plan(request, stamp: stamp, app: app, in: &table)
        take(plan, of: table.partition, into: &work)
    }

    func take(_ plan: Plan, of partition: Int32, into work: inout PlannedWork) {
        output.add(plan)
        work.add(plan)
        // Added before the commit. If the commit succeeds but its answer is lost, the reminder must exist.
        if let waiting = plan.held { held.add(waiting.key, in: partition, at: waiting.at) }
    }
}

extension Misfit {
    fileprivate static let keyless = Misfit("no_group", "the record names neither a group nor one activity")

    fileprivate static func keyTooLong(_ bytes: Int) -> Misfit {
        Misfit(
            "key_too_long",
            "app, group and recipient (or id) make a key of \(bytes) bytes; the limit is \(Limits.keyBytesMax)"
        )
    }

    fileprivate static func astray(_ home: Int) -> Misfit {
        Misfit(
            "wrong_partition",
            "the record belongs in partition \(home), with its group's other sends; only the gateway writes sends"
        )
    }
}
