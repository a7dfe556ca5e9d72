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

extension PlannerDecider {
    /// The most rows that one transaction reads. The next transaction takes the rest.
    private static let rowsMax = 20_000

    func begin(_ hand: borrowing BatchInHand) -> Bool {
        apps.refresh()
        return true
    }

    func beginTransaction() {
        output.removeAll()
        planned = PlannedWork()
        tables.removeAll()
    }

    var isOutputFull: Bool { output.isFull }

    func finishTransaction() { for table in tables.values { table.write(to: &output) } }

    func send(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(by: producer, to: topics, onStep: stage.reached)
    }

    func committed(at now: Instant) {
        output.eachRow { partition, key, record in
            stage.views.overlays[partition]?.committed(key, record, at: now)
        }
    }

    func conclude() {
        for note in planned.notes { notes.send(note) }
        stage.reached(.noted)
        stage.metrics.records("planned").add(planned.sends - planned.misfits)
        stage.metrics.records("rejected").add(planned.misfits)
        for (verdict, count) in planned.verdicts { metrics.verdicts(verdict.rawValue).add(count) }
        for target in PlanOutput.Target.allCases where output.count(target) > 0 {
            stage.metrics.produced(target.topic.rawValue).add(output.count(target))
        }
        metrics.notes.add(planned.notes.count)
    }

    func table(of partition: Int32) -> PartitionTable {
        if let table = tables[partition] { return table }
        let table = PartitionTable(of: partition, in: stage.views, reader: reader, log: stage.log)
        tables[partition] = table
        return table
    }

    // MARK: Reading

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

    // MARK: Deciding

    func decide(_ part: inout BatchPart, of batch: borrowing RecordBatch, recordsMax: Int) throws {
        let table = table(of: part.partition)
        let first = part.taken
        while !part.isTaken, part.taken - first < recordsMax, !output.isFull, table.count < Self.rowsMax {
            try decide(part.next, of: batch, in: table)
            part.takeNext()
        }
        if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
    }

    private func decide(
        _ index: Int, of batch: borrowing RecordBatch, in table: PartitionTable
    ) throws(StoreError) {
        planned.sends += 1
        let now = stage.time.now()
        let request: SendRequest
        var stamp: Int64
        do throws(Misfit) {
            (request, stamp) = try read(batch[index])
        } catch {
            planned.misfits += 1
            return stage.sendToDeadLetters(
                index, of: batch, as: error, at: stage.clock.decisionTime(at: now) ?? 0)
        }
        let time = stage.clock.time(at: now)?.milliseconds ?? stamp
        // A low timestamp is safe. A high one makes phones ignore updates for as long as it is ahead.
        stamp = min(stamp, time)
        let age = time - stamp
        var app: App?
        if case .send(let send) = request { app = apps.app(send.app, age: age) }
        var table = table
        take(try planner.plan(request, stamp: stamp, app: app, in: &table), of: table.partition)
    }

    func take(_ plan: Plan, of partition: Int32) {
        output.add(plan)
        planned.add(plan)
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
