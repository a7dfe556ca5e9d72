package import Kafka
package import Lifecycle
internal import Store
internal import Telemetry
internal import Topics

/// A decider whose transactions take the records of one batch, in the order of each partition.
///
/// An interruption leaves nothing behind except perhaps duplicate dead letters, because uncommitted records are read
/// again.
package protocol RecordDecider: StageDecider where Step: RecordStep, Part: PositionedPart {
    /// Begins a batch, before its first transaction. Returns false if the batch has to be read again later.
    func begin(_ hand: borrowing BatchInHand) -> Bool
    /// Drops the output of the previous transaction.
    func beginTransaction()
    /// Whether the transaction takes no more records.
    var isOutputFull: Bool { get }
    /// Decides records of the part until it is taken, `recordsMax` of them are, or the output is full.
    func decide(_ part: inout BatchPart, of batch: borrowing RecordBatch, recordsMax: Int) throws
    /// Adds the changed rows to the output, after the last record.
    func finishTransaction()
    /// Queues the output. Returns false if the producer refused a record.
    func send(by producer: TransactionalProducer, to topics: [Topic]) -> Bool
    /// Takes over what the transaction has changed.
    func committed(at now: Instant)
    /// Does what follows the transaction: counts its outcomes, and sends what depends on them.
    func conclude()
}

extension RecordDecider {
    package func viewIsComplete(_ partition: Int32) { stage.member.serve(partition) }

    package func take(_ hand: inout BatchInHand) throws {
        guard hand.isBegun || beginBatch(&hand) else { return }
        let began = stage.time.now()
        beginTransaction()
        guard let taken = try decide(&hand) else { return }
        stage.reached(.deadLettersSent)
        if let problem = stage.writer.waitForAcknowledgements() {
            return stage.member.giveUp("records could not be written to the dead letters", problem)
        }
        stage.reached(.deadLettersAcknowledged)
        finishTransaction()
        stage.reached(.decided)
        guard try stage.commit(taken.offsets, readIn: hand.epoch, send: send) else {
            return stage.bound.shrink(afterFailureOf: taken.records)
        }
        committed(at: stage.time.now())
        for end in taken.ends { stage.member.owned[end.partition]?.reached(end.offset, in: end.topic) }
        stage.reached(.overlayUpdated)
        stage.bound.grow()
        conclude()
        stage.metrics.batchSeconds.observe(stage.time.now().seconds(since: began))
    }

    /// Runs a transaction that takes no records, with the output that is there. It commits the unchanged offsets of the
    /// partitions.
    package func commitAlone(of partitions: some Sequence<Int32>) throws -> Bool {
        guard try stage.commitAlone(of: partitions, send: send) else { return false }
        committed(at: stage.time.now())
        stage.reached(.overlayUpdated)
        conclude()
        return true
    }

    private func beginBatch(_ hand: inout BatchInHand) -> Bool {
        stage.reached(.batchRead)
        if let gap = findGap(hand) {
            stage.member.giveUp("the batch has a gap in its records", gap)
            return false
        }
        hand.isBegun = true
        return begin(hand)
    }

    /// Returns the first gap. All gaps of the batch count as known afterwards. Only topics of plain writers are checked,
    /// because the markers of transactions leave gaps.
    private func findGap(_ hand: borrowing BatchInHand) -> String? {
        var first: String?
        for part in hand.parts where !stage.form.topics[part.topic].hasTransactions {
            let offsets = part.offsets(in: hand.batch)
            if let gap = stage.member.owned[part.partition]?.positions[part.topic].firstNewGap(in: offsets) {
                first = first ?? "before \(part.partition)/\(gap)"
            }
        }
        return first
    }

    /// Returns nil if a view is unusable. Then the batch is read again.
    private func decide(_ hand: inout BatchInHand) throws -> TakenRecords? {
        var taken = TakenRecords()
        for index in hand.parts.indices where !hand.parts[index].isTaken {
            let left = stage.bound.records - taken.records
            guard left > 0, !isOutputFull else { break }
            let before = hand.parts[index].taken
            let (partition, topic) = (hand.parts[index].partition, hand.parts[index].topic)
            do {
                try decide(&hand.parts[index], of: hand.batch, recordsMax: left)
            } catch let error as StoreError {
                try stage.views.rebuild(partition, after: error)
                return nil
            }
            guard hand.parts[index].taken > before else { continue }
            taken.records += hand.parts[index].taken - before
            let end = hand.parts[index].end(in: hand.batch)
            taken.ends.append((partition, topic, end))
            taken.offsets.append(
                OffsetToCommit(partition: stage.place(stage.form.topics[topic], partition), offset: end))
        }
        return taken
    }
}

/// The records of a transaction.
private struct TakenRecords {
    var records = 0
    var offsets: [OffsetToCommit] = []
    var ends: [(partition: Int32, topic: Int, offset: Int64)] = []
}
