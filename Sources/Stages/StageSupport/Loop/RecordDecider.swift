package import Kafka
package import Lifecycle
internal import Store
internal import Telemetry
internal import Topics

/// A decider whose transactions take the records of one batch, in the order of each partition. Each call of `process`
/// runs one transaction. The requirements are the steps of `process`, in their order.
///
/// An interruption leaves nothing behind except perhaps duplicate dead letters, because uncommitted records are read
/// again.
package protocol RecordDecider: StageDecider where Step: RecordStep, Part: PositionedPartition {
    /// Prepares for a batch, before its first transaction. Returns false if the batch has to be read again later. Then
    /// the decider has started over.
    func prepare(for batch: borrowing PendingBatch) -> Bool
    /// Drops the output of the previous transaction.
    func beginTransaction()
    /// Whether the transaction takes no more records.
    var isOutputFull: Bool { get }
    /// Decides records of the part until all are taken, `recordsMax` are taken, or the output is full.
    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws
    /// Sends a record to the dead letters.
    func setAside(recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord)
    /// Sends what the decider has gathered for other records outside of the transaction, after the last record.
    func finishRecords()
    /// The size of the output in bytes.
    var outputByteCount: Int { get }
    /// Adds the changed rows to the output, after the last record.
    func addChangedRows()
    /// Queues the output. Returns false if the producer refused a record.
    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool
    /// Applies the changes of the committed transaction to the overlays and to the decider's state.
    func applyCommittedChanges(at now: Instant)
    /// Counts the outcomes of the committed transaction.
    func publishOutcomes()
}

extension RecordDecider {
    package func finishRecords() {}

    package func viewCompleted(of partition: Int32) { stage.member.startServing(partition) }

    /// Runs one transaction with records of the batch. If something fails, the loop starts over.
    package func process(_ batch: inout PendingBatch) throws {
        guard batch.hasBegun || beginBatch(&batch) else { return }
        let startedAt = stage.time.now()
        beginTransaction()
        guard let taken = try takeRecords(of: &batch) else { return }
        finishRecords()
        stage.reportStep(.deadLettersSent)
        if let problem = stage.waitForDeadLetters() {
            return stage.member.startOverLater(
                logging: "records outside the transaction could not be written", reason: problem)
        }
        stage.reportStep(.deadLettersAcknowledged)
        addChangedRows()
        stage.reportStep(.decided)
        guard try stage.commit(taken.offsets, readIn: batch.epoch, send: sendOutput) else {
            noteFailure(of: taken)
            return stage.sizeLimit.shrink(afterFailureOf: taken.count)
        }
        applyCommittedChanges(at: stage.time.now())
        for offset in taken.offsets { stage.loneFailures.recordCommit(of: offset.partition) }
        for (partition, topic, offset) in taken.endOffsets {
            stage.member.assignedPartitions[partition]?.markCommitted(below: offset, in: topic)
        }
        stage.reportStep(.overlayUpdated)
        stage.sizeLimit.grow()
        publishOutcomes()
        stage.metrics.batchSeconds.observe(stage.time.now().seconds(since: startedAt))
    }

    /// Commits output that the decider has gathered without records, with the unchanged offsets of the partitions.
    /// Returns false if it is not committed.
    package func commitOutput(of partitions: some Sequence<Int32>) throws -> Bool {
        guard try stage.commitOutput(of: partitions, send: sendOutput) else { return false }
        applyCommittedChanges(at: stage.time.now())
        stage.reportStep(.overlayUpdated)
        publishOutcomes()
        return true
    }

    /// Notes a failed transaction if it took only one record.
    private func noteFailure(of taken: TakenRecords) {
        guard taken.count == 1, let end = taken.offsets.first else { return }
        stage.loneFailures.recordFailure(
            at: end.offset - 1, of: end.partition, outputBytes: outputByteCount)
    }

    /// Checks the batch for gaps and lets the decider prepare. Returns false if the batch is read again.
    private func beginBatch(_ batch: inout PendingBatch) -> Bool {
        stage.reportStep(.batchRead)
        if let gap = findGap(in: batch) {
            stage.member.startOverLater(logging: "the batch has a gap in its records", reason: gap)
            return false
        }
        batch.hasBegun = true
        return prepare(for: batch)
    }

    /// Returns the first gap in the offsets that was not known before, for a log. All gaps of the batch count as known
    /// afterwards. Only topics without transactions are checked, because the markers of transactions leave gaps.
    private func findGap(in batch: borrowing PendingBatch) -> String? {
        var firstGap: String?
        for part in batch.parts where !stage.configuration.topics[part.topic].hasTransactions {
            let offsets = part.offsets(in: batch.records)
            if let gap = stage.member.assignedPartitions[part.partition]?.positions[part.topic].firstNewGap(
                in: offsets)
            {
                firstGap = firstGap ?? "before \(part.partition)/\(gap)"
            }
        }
        return firstGap
    }

    /// Takes the records of one transaction: decides them part by part, up to the limit of records. Returns nil if a
    /// view is unusable. Then the batch is read again.
    private func takeRecords(of batch: inout PendingBatch) throws -> TakenRecords? {
        var taken = TakenRecords()
        for index in batch.parts.indices where !batch.parts[index].isTaken {
            let remaining = stage.sizeLimit.records - taken.count
            guard remaining > 0, !isOutputFull else { break }
            let takenBefore = batch.parts[index].takenCount
            let (partition, topic) = (batch.parts[index].partition, batch.parts[index].topic)
            do {
                if rejectNeverCommittedRecord(of: batch.parts[index], in: batch.records) {
                    batch.parts[index].markNextTaken()
                } else {
                    try decideRecords(of: &batch.parts[index], in: batch.records, recordsMax: remaining)
                }
            } catch let error as StoreError {
                try stage.views.rebuild(partition, after: error)
                return nil
            }
            let count = batch.parts[index].takenCount - takenBefore
            guard count > 0 else { continue }
            taken.count += count
            let endOffset = batch.parts[index].endOffset(in: batch.records)
            taken.endOffsets.append((partition, topic, endOffset))
            taken.offsets.append(
                OffsetToCommit(
                    partition: stage.topicPartition(of: stage.configuration.topics[topic], number: partition),
                    offset: endOffset))
            if stage.isLimitedToOnePartition { break }
        }
        return taken
    }

    /// Sends the next record of the part to the dead letters if its output is never committed. Returns false if the
    /// record is to be decided.
    private func rejectNeverCommittedRecord(of part: BatchPart, in records: borrowing RecordBatch) -> Bool {
        if stage.loneFailures.isEmpty { return false }
        let (index, topic) = (part.nextIndex, stage.configuration.topics[part.topic])
        let partition = stage.topicPartition(of: topic, number: part.partition)
        guard
            let rejection = stage.loneFailures.reasonToReject(
                recordAt: records[index].offset, of: partition)
        else { return false }
        stage.log.error(
            "a record goes to the dead letters, because the cluster does not commit its output",
            .field("partition", partition.description), .field("offset", records[index].offset),
            .field("reason", rejection.reason))
        setAside(recordAt: index, of: records, as: rejection)
        return true
    }
}

/// The records of a transaction.
private struct TakenRecords {
    var count = 0
    var offsets: [OffsetToCommit] = []
    /// The same offsets, by partition number and topic index.
    var endOffsets: [(partition: Int32, topic: Int, offset: Int64)] = []
}
