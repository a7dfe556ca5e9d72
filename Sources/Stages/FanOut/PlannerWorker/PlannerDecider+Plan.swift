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
    var notes: [SupersededVersions] = []
    var verdicts: [ProgressRecord.PlannerVerdict: Int] = [:]
    var sends = 0
    var misfits = 0

    mutating func add(_ plan: Plan) {
        if let note = plan.note { notes.append(note) }
        for progress in plan.progress {
            if case .planner(let part) = progress.part { verdicts[part.verdict, default: 0] += 1 }
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
        output.forEachRow { partition, key, record in
            stage.views.overlays[partition]?.recordCommit(of: key, as: record, at: now)
        }
    }

    func conclude() {
        for note in planned.notes { notes.send(note) }
        stage.reached(.notesSent)
        stage.metrics.records("planned").add(planned.sends - planned.misfits)
        stage.metrics.records("rejected").add(planned.misfits)
        for (verdict, count) in planned.verdicts { metrics.verdicts(verdict.rawValue).add(count) }
        for target in PlannerOutput.OutputTopic.allCases where output.count(of: target) > 0 {
            stage.metrics.produced(target.topic.rawValue).add(output.count(of: target))
        }
        metrics.notes.add(planned.notes.count)
    }

    func table(of partition: Int32) -> TransactionGroups {
        if let table = tables[partition] { return table }
        let table = TransactionGroups(
            partition: partition, views: stage.views, reader: reader, log: stage.log)
        tables[partition] = table
        return table
    }

    // MARK: Reading

    private func read(_ record: borrowing Kafka.Record) throws(RejectedRecord) -> (
        request: SendRequest, stamp: Int64
    ) {
        guard let value = record.value else { throw .emptyValue(expected: "a send") }
        guard let stamp = record.timestamp else { throw .missingTimestamp }
        let request: SendRequest
        do throws(RecordDecodingError) {
            request = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe SendRequest.decode(bytes, with: reader)
            }
        } catch {
            throw RejectedRecord(error)
        }
        guard let key = request.scopeKey?.bytes else { throw .keyless }
        guard key.count <= EnvironmentLimits.keyBytesMax else { throw .keyTooLong(key.count) }
        if case .send(let send) = request, send.fingerprint != nil {
            let bytes = SendIdempotencyRow.key(app: send.app, send: send.id).count
            guard bytes <= EnvironmentLimits.keyBytesMax else { throw .keyTooLong(bytes) }
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
        _ index: Int, of batch: borrowing RecordBatch, in table: TransactionGroups
    ) throws(StoreError) {
        planned.sends += 1
        let now = stage.time.now()
        let request: SendRequest
        var stamp: Int64
        do throws(RejectedRecord) {
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
        if case .send(let send) = request { app = apps.app(id: send.app, age: age) }
        var table = table
        take(try planner.plan(request, stamp: stamp, app: app, in: &table), of: table.partition)
    }

    func take(_ plan: Plan, of partition: Int32) {
        output.add(plan)
        planned.add(plan)
        // Added before the commit. If the commit succeeds but its answer is lost, the reminder must exist.
        if let waiting = plan.heldSend { held.add(waiting.key, in: partition, at: waiting.at) }
    }
}

extension RejectedRecord {
    fileprivate static let keyless = RejectedRecord(
        code: "no_group", reason: "the record names neither a group nor one activity")

    fileprivate static func keyTooLong(_ bytes: Int) -> RejectedRecord {
        RejectedRecord(
            code: "key_too_long",
            reason:
                "app, group and recipient (or id) make a key of \(bytes) bytes; the limit is \(EnvironmentLimits.keyBytesMax)"
        )
    }

    fileprivate static func astray(_ home: Int) -> RejectedRecord {
        RejectedRecord(
            code: "wrong_partition",
            reason:
                "the record belongs in partition \(home), with its group's other sends; only the gateway writes sends"
        )
    }
}
