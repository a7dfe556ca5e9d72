package import Kafka
package import Lifecycle
internal import Store
internal import Telemetry
internal import Topics

/// A decider whose transactions take the records of one batch, in the order of each partition.
///
/// An interruption leaves nothing behind except perhaps duplicate dead letters, because uncommitted records are read
/// again.
package protocol RecordDecider: StageDecider where Step: RecordStep, Part: PositionedPartition {
    /// Begins a batch, before its first transaction. Returns false if the batch has to be read again later.
    func prepare(for batch: borrowing PendingBatch) -> Bool
    /// Drops the output of the previous transaction.
    func beginTransaction()
    /// Whether the transaction takes no more records.
    var isOutputFull: Bool { get }
    /// Decides records of the part until it is taken, `recordsMax` of them are, or the output is full.
    func decideRecords(of part: inout BatchPart, in batch: borrowing RecordBatch, recordsMax: Int) throws
    /// Adds the changed rows to the output, after the last record.
    func addChangedRows()
    /// Queues the output. Returns false if the producer refused a record.
    func sendOutput(by producer: TransactionalProducer, to topics: [Topic]) -> Bool
    /// Takes over what the transaction has changed.
    func applyCommittedChanges(at now: Instant)
    /// Does what follows the transaction: counts its outcomes, and sends what depends on them.
    func publishOutcomes()
}

extension RecordDecider {
    package func viewCompleted(of partition: Int32) { stage.member.startServing(partition) }

    package func process(_ batch: inout PendingBatch) throws {
        guard batch.hasBegun || beginBatch(&batch) else { return }
        let began = stage.time.now()
        beginTransaction()
        guard let taken = try decideRecords(of: &batch) else { return }
        stage.reportStep(.deadLettersSent)
        if let problem = stage.writer.waitForAcknowledgements() {
            return stage.member.startOverLater(
                logging: "records could not be written to the dead letters", reason: problem)
        }
        stage.reportStep(.deadLettersAcknowledged)
        addChangedRows()
        stage.reportStep(.decided)
        guard try stage.commit(taken.offsets, readIn: batch.epoch, send: sendOutput) else {
            return stage.sizeLimit.shrink(afterFailureOf: taken.count)
        }
        applyCommittedChanges(at: stage.time.now())
        for end in taken.endOffsets {
            stage.member.assignedPartitions[end.partition]?.markCommitted(below: end.offset, in: end.topic)
        }
        stage.reportStep(.overlayUpdated)
        stage.sizeLimit.grow()
        publishOutcomes()
        stage.metrics.batchSeconds.observe(stage.time.now().seconds(since: began))
    }

    /// Runs a transaction that takes no records, with the output that is there. It commits the unchanged offsets of the
    /// partitions.
    package func commitWithoutRecords(of partitions: some Sequence<Int32>) throws -> Bool {
        guard try stage.commitWithoutRecords(of: partitions, send: sendOutput) else { return false }
        applyCommittedChanges(at: stage.time.now())
        stage.reportStep(.overlayUpdated)
        publishOutcomes()
        return true
    }

    private func beginBatch(_ batch: inout PendingBatch) -> Bool {
        stage.reportStep(.batchRead)
        if let gap = findGap(in: batch) {
            stage.member.startOverLater(logging: "the batch has a gap in its records", reason: gap)
            return false
        }
        batch.hasBegun = true
        return prepare(for: batch)
    }

    /// Returns the first gap. All gaps of the batch count as known afterwards. Only topics of plain writers are checked,
    /// because the markers of transactions leave gaps.
    private func findGap(in batch: borrowing PendingBatch) -> String? {
        var first: String?
        for part in batch.parts where !stage.configuration.topics[part.topic].hasTransactions {
            let offsets = part.offsets(in: batch.records)
            if let gap = stage.member.assignedPartitions[part.partition]?.positions[part.topic].firstNewGap(
                in: offsets)
            {
                first = first ?? "before \(part.partition)/\(gap)"
            }
        }
        return first
    }

    /// Returns nil if a view is unusable. Then the batch is read again.
    private func decideRecords(of batch: inout PendingBatch) throws -> TakenRecords? {
        var taken = TakenRecords()
        for index in batch.parts.indices where !batch.parts[index].isTaken {
            let left = stage.sizeLimit.records - taken.count
            guard left > 0, !isOutputFull else { break }
            let before = batch.parts[index].takenCount
            let (partition, topic) = (batch.parts[index].partition, batch.parts[index].topic)
            do {
                try decideRecords(of: &batch.parts[index], in: batch.records, recordsMax: left)
            } catch let error as StoreError {
                try stage.views.rebuild(partition, after: error)
                return nil
            }
            guard batch.parts[index].takenCount > before else { continue }
            taken.count += batch.parts[index].takenCount - before
            let end = batch.parts[index].endOffset(in: batch.records)
            taken.endOffsets.append((partition, topic, end))
            taken.offsets.append(
                OffsetToCommit(
                    partition: stage.topicPartition(of: stage.configuration.topics[topic], number: partition),
                    offset: end))
        }
        return taken
    }
}

/// The records of a transaction.
private struct TakenRecords {
    var count = 0
    var offsets: [OffsetToCommit] = []
    var endOffsets: [(partition: Int32, topic: Int, offset: Int64)] = []
}
