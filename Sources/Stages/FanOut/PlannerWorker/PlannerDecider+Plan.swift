internal import CatalogRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The result of a transaction, apart from its records.
struct PlannedWork {
    var notes: [SupersededVersions] = []
    var replies: [Plan.Reply] = []
    var verdictCounts: [ProgressRecord.PlannerVerdict: Int] = [:]
    var sendCount = 0
    var rejectedCount = 0
    /// The number of subscriptions that were not stored, by app.
    var unstoredSubscriptions: [String: Int] = [:]

    mutating func add(_ plan: Plan) {
        if let app = plan.appAtSubscriptionLimit { unstoredSubscriptions[app, default: 0] += 1 }
        if let note = plan.note { notes.append(note) }
        if let reply = plan.reply { replies.append(reply) }
        for progress in plan.progress {
            if case .planner(let part) = progress.part { verdictCounts[part.verdict, default: 0] += 1 }
        }
    }
}

extension PlannerDecider {
    /// The most rows and bytes of rows that one transaction reads. The next transaction takes the rest.
    private static let rowsMax = 20_000
    private static let rowBytesMax = 16 << 20

    func prepare(for batch: borrowing PendingBatch) -> Bool {
        apps.refresh()
        return true
    }

    func beginTransaction() {
        output.removeAll()
        plannedWork = PlannedWork()
        tables.removeAll()
    }

    var isOutputFull: Bool { output.isFull }
    var outputByteCount: Int { output.byteCount }

    func addChangedRows() { for table in tables.values { table.write(to: &output) } }

    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool {
        output.send(by: producer, to: topics, onStep: stage.reportStep)
    }

    func applyCommittedChanges(at now: Instant) {
        output.forEachRow { partition, key, record in
            stage.views.overlays[partition]?.recordCommit(of: key, as: record, at: now)
        }
    }

    func publishOutcomes() {
        for note in plannedWork.notes { messageWriter.send(note) }
        for reply in plannedWork.replies { messageWriter.send(reply) }
        stage.reportStep(.messagesSent)
        stage.metrics.records(withOutcome: "planned").add(plannedWork.sendCount - plannedWork.rejectedCount)
        stage.metrics.records(withOutcome: "rejected").add(plannedWork.rejectedCount)
        for (verdict, count) in plannedWork.verdictCounts {
            metrics.sends(withVerdict: verdict.rawValue).add(count)
        }
        for target in PlannerOutput.OutputTopic.allCases where output.count(of: target) > 0 {
            stage.metrics.produced(to: target.topic.rawValue).add(output.count(of: target))
        }
        metrics.supersededNotes.add(plannedWork.notes.count)
        metrics.replies.add(plannedWork.replies.count)
        reportUnstoredSubscriptions()
    }

    private func reportUnstoredSubscriptions() {
        for (app, count) in plannedWork.unstoredSubscriptions {
            metrics.unstoredSubscriptions.add(count)
            stage.log.warning(
                "phones of an app name more groups than fan-out.subscribed-groups; sends to new groups go to all lanes; replace a stolen report key, or raise the limit",
                .field("app", app), .field("subscriptions", count))
        }
    }

    func table(of partition: Int32) -> TransactionGroups {
        if let table = tables[partition] { return table }
        let table = TransactionGroups(
            partition: partition, views: stage.views, reader: reader, log: stage.log)
        tables[partition] = table
        return table
    }

    /// Whether the transaction has read as many rows as it may. Most transactions have rows of few partitions.
    var areRowsFull: Bool {
        var (count, bytes) = (0, 0)
        for table in tables.values {
            count += table.count
            bytes += table.readByteCount
        }
        return count >= Self.rowsMax || bytes >= Self.rowBytesMax
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
        guard let key = request.scopeKey?.bytes else { throw .missingKey }
        guard key.count <= EnvironmentLimits.keyBytesMax else { throw .keyTooLong(bytes: key.count) }
        if case .send(let send) = request, send.fingerprint != nil {
            let bytes = SendIdempotencyRow.key(app: send.app, send: send.id).count
            guard bytes <= EnvironmentLimits.keyBytesMax else { throw .keyTooLong(bytes: bytes) }
        }
        let home = partitioner.partition(of: key)
        guard home == record.partition else { throw .wrongPartition(belongsIn: home) }
        return (request, stamp)
    }

    // MARK: Deciding

    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws {
        let table = table(of: part.partition)
        let first = part.takenCount
        while !part.isTaken, part.takenCount - first < recordsMax, !output.isFull, !areRowsFull {
            try decide(recordAt: part.nextIndex, of: batch, in: table)
            part.markNextTaken()
        }
        if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
    }

    private func decide(
        recordAt index: Int, of batch: borrowing RecordBatch, in table: TransactionGroups
    ) throws(StoreError) {
        plannedWork.sendCount += 1
        let now = stage.time.now()
        let request: SendRequest
        let unboundedStamp: Int64
        do throws(RejectedRecord) {
            (request, unboundedStamp) = try read(batch[index])
        } catch {
            plannedWork.rejectedCount += 1
            return stage.sendToDeadLetters(
                recordAt: index, of: batch, as: error, at: stage.clock.decisionTime(at: now) ?? 0)
        }
        let time = stage.clock.time(at: now)?.milliseconds ?? unboundedStamp
        // A low timestamp is safe. A high one makes phones ignore updates for as long as it is ahead. A deadline is the
        // opposite: a low one drops every job.
        let stamp = min(unboundedStamp, time)
        let age = time - stamp
        var app: App?
        if case .send(let send) = request { app = apps.app(id: send.app, age: age) }
        var table = table
        let plan = try planner.plan(
            request, stamp: stamp, unboundedStamp: unboundedStamp, app: app, in: &table)
        add(plan, from: table.partition)
    }

    /// Sends the record to the dead letters and reports it as refused. So its caller learns that nothing is sent.
    func setAside(recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord) {
        plannedWork.sendCount += 1
        plannedWork.rejectedCount += 1
        stage.sendToDeadLetters(
            recordAt: index, of: batch, as: rejection,
            at: stage.clock.decisionTime(at: stage.time.now()) ?? 0)
        guard case (.send(let send), let stamp)? = try? read(batch[index]) else { return }
        let partition = batch[index].partition
        add(planner.refuse(send, stamp: stamp, because: rejection.reason), from: partition)
    }

    func add(_ plan: Plan, from partition: Int32) {
        output.add(plan)
        plannedWork.add(plan)
        // Added before the commit. If the commit succeeds but its answer is lost, the reminder must exist.
        if let waiting = plan.heldSend { heldSendReminders.add(waiting.key, in: partition, at: waiting.at) }
    }
}

extension RejectedRecord {
    fileprivate static let missingKey = RejectedRecord(
        code: "no_group", reason: "the record names neither a group nor one activity")

    fileprivate static func keyTooLong(bytes: Int) -> RejectedRecord {
        RejectedRecord(
            code: "key_too_long",
            reason:
                "app, group and recipient (or id) make a key of \(bytes) bytes; the limit is \(EnvironmentLimits.keyBytesMax)"
        )
    }

    fileprivate static func wrongPartition(belongsIn home: Int) -> RejectedRecord {
        RejectedRecord(
            code: "wrong_partition",
            reason:
                "the record belongs in partition \(home), with its group's other sends; only the gateway writes sends"
        )
    }
}
