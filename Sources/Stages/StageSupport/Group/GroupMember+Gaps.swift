internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

// A partition whose committed offset is out of range is stopped. The member asks where the partition begins and ends,
// and `OffsetGap` decides whether it continues behind the gap or waits for the operator.

extension GroupMember {
    /// Handles the consumer's report that a partition no longer has its next record.
    func handleOutOfRange(_ partition: TopicPartition) {
        stoppedPartitions.insert(partition)
        // A partition that is not served is inspected when it has the state that its records need.
        if assignedPartitions[partition.partition]?.isServing == true { inspect(partition) }
    }

    /// Asks where a stopped partition begins and ends.
    func inspect(_ partition: TopicPartition) {
        assignedPartitions[partition.partition]?.state = .outOfRange(
            "Kafka is asked where \(partition) begins and ends")
        consumer.pause(topicPartitions(numbered: [partition.partition]))
        // The position may go back below an end that was reached before, so that end must not be committed.
        for topicPartition in topicPartitions(numbered: [partition.partition]) {
            uncommittedEnds.removeEnd(of: topicPartition)
        }
        waitingPartitions.byPartition[partition] = WaitingPartitions.WaitingPartition(
            pendingQuery: consumer.submit(.watermarks([partition])),
            lastReported: waitingPartitions.byPartition[partition]?.lastReported,
            nextCheck: time.now().advanced(byMilliseconds: WaitingPartitions.recheckMilliseconds))
    }

    /// Checks the waiting partitions again: the operator may have set an offset, or the records may be back.
    func recheckGaps(at now: Instant) {
        for (partition, waiting) in waitingPartitions.byPartition where now >= waiting.nextCheck {
            waitingPartitions.byPartition[partition]?.pendingQuery =
                consumer.submit(.committedOffsets([partition]))
            waitingPartitions.byPartition[partition]?.nextCheck =
                now.advanced(byMilliseconds: WaitingPartitions.recheckMilliseconds)
        }
    }

    /// Handles an answer about a waiting partition. The watermarks decide how the partition continues. A recheck asks
    /// for the committed offset first.
    func handleGapAnswer(_ answer: OffsetQueryResult, to id: OffsetQueryID) {
        guard let partition = waitingPartitions.partition(forQuery: id), let index = topicIndex(of: partition)
        else { return }
        waitingPartitions.byPartition[partition]?.pendingQuery = nil
        switch answer {
        case .committedOffsets(let offsets):
            guard let offset = offsets.first?.offset else { return }
            // The operator may have set the offset.
            assignedPartitions[partition.partition]?.resume(at: offset, in: index)
            waitingPartitions.byPartition[partition]?.pendingQuery = consumer.submit(.watermarks([partition]))
        case .watermarks(let watermarksByPartition):
            guard let watermarks = watermarksByPartition[partition],
                let part = assignedPartitions[partition.partition]
            else { return }
            // A group without a committed offset begins at the first record.
            let committed = part.nextOffset(in: index) ?? watermarks.low
            let gap = OffsetGap(partition: partition, committed: committed, watermarks: watermarks)
            resolve(gap, inTopicAt: index)
        case .failed(_, let error):
            // The next check asks again.
            log.warning("a partition cannot be asked for its ends now", .field("error", error))
        // The member never asks for first records.
        case .firstRecords: break
        }
    }

    /// Continues at the committed offset or behind the gap, unless records that still matter may be lost. Then the
    /// partition waits for the operator.
    private func resolve(_ gap: OffsetGap, inTopicAt index: Int) {
        switch gap.assessment(for: topics[index]) {
        case .inRange: continueReading(after: gap, inTopicAt: index, at: gap.committed)
        case .transactionMarker:
            log.info(
                "only the end of a transaction was deleted before it was read",
                .field("partition", gap.partition.description), .field("offset", gap.committed))
            continueReading(after: gap, inTopicAt: index, at: gap.watermarks.low)
        case .expired:
            log.error(
                "records expired before they were read; the partition continues behind them: find out why the stage stood still",
                .field("partition", gap.partition.description), .field("from", gap.committed),
                .field("to", gap.watermarks.low))
            consumer.countSkippedOffsets(gap.missingCount)
            continueReading(after: gap, inTopicAt: index, at: gap.watermarks.low)
        case .recordsLost, .logIsShorter: wait(for: gap, inTopicAt: index)
        }
    }

    /// Forgets the gap, and serves the partition from the offset.
    private func continueReading(after gap: OffsetGap, inTopicAt index: Int, at offset: Int64) {
        waitingPartitions.byPartition[gap.partition] = nil
        stoppedPartitions.remove(gap.partition)
        let partition = gap.partition.partition
        assignedPartitions[partition]?.resume(at: offset, in: index)
        // Another topic of the same partition number may have a gap too.
        guard let otherStopped = stoppedPartitions.first(where: { $0.partition == partition }) else {
            return resumeServing(partition)
        }
        if waitingPartitions.byPartition[otherStopped] == nil { inspect(otherStopped) }
    }

    /// Lets the partition wait, and logs once what the operator has to do.
    private func wait(for gap: OffsetGap, inTopicAt index: Int) {
        let advice =
            "\(gap.description); stop every process of this stage, then continue with: flotilla replay offset --topic \(topics[index].rawValue) --partition \(gap.partition.partition) --to beginning"
        assignedPartitions[gap.partition.partition]?.state = .outOfRange(advice)
        if waitingPartitions.byPartition[gap.partition]?.lastReported == gap { return }
        waitingPartitions.byPartition[gap.partition]?.lastReported = gap
        log.error(
            "a partition cannot continue, because its committed offset is out of range",
            .field("partition", gap.partition.description), .field("reason", advice))
    }
}
