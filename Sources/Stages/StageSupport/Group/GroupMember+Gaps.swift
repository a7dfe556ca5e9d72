internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

/// The partitions whose committed offset is out of range, because Kafka no longer has their next record. Such a
/// partition waits alone until the reason is known, and perhaps until an operator decides.
struct OpenGaps {
    /// The pause between two checks of a partition that waits for the operator.
    static let recheckMilliseconds = 10_000

    /// The state of one partition.
    struct Gap {
        /// The query whose answer has not come yet.
        var pendingQuery: OffsetQueryID?
        /// The gap that was found last. It is logged once.
        var lastFound: OffsetGap?
        var nextCheck: Instant
    }

    var open: [TopicPartition: Gap] = [:]

    func partition(forQuery id: OffsetQueryID) -> TopicPartition? {
        open.first { $0.value.pendingQuery == id }?.key
    }
}

extension GroupMember {
    /// Handles the consumer's report that a partition no longer has its next record.
    func handleOutOfRange(_ partition: TopicPartition) {
        stoppedPartitions.insert(partition)
        // A partition that is not served is inspected when it has the state that its records need.
        if assignedPartitions[partition.partition]?.isServing == true { inspect(partition) }
    }

    /// Asks where a stopped partition begins and ends.
    func inspect(_ partition: TopicPartition) {
        assignedPartitions[partition.partition]?.state = .outOfRange("\(partition) is asked for its ends")
        consumer.pause(topicPartitions(numbered: [partition.partition]))
        // Records below an end that was reached before may be read again.
        for topicPartition in topicPartitions(numbered: [partition.partition]) {
            uncommittedEnds.removeEnd(of: topicPartition)
        }
        openGaps.open[partition] = OpenGaps.Gap(
            pendingQuery: consumer.submit(.watermarks([partition])),
            lastFound: openGaps.open[partition]?.lastFound,
            nextCheck: time.now().advanced(byMilliseconds: OpenGaps.recheckMilliseconds))
    }

    /// Checks the waiting partitions again: the operator may have set an offset, or the records may be back.
    func recheckGaps(at now: Instant) {
        for (partition, gap) in openGaps.open where now >= gap.nextCheck {
            openGaps.open[partition]?.pendingQuery = consumer.submit(.committedOffsets([partition]))
            openGaps.open[partition]?.nextCheck = now.advanced(byMilliseconds: OpenGaps.recheckMilliseconds)
        }
    }

    /// Handles an answer about a waiting partition. The watermarks decide how it continues. A recheck asks for the
    /// committed offset first.
    func handleGapAnswer(_ answer: OffsetQueryResult, to id: OffsetQueryID) throws {
        guard let partition = openGaps.partition(forQuery: id), let topic = topicIndex(of: partition) else {
            return
        }
        openGaps.open[partition]?.pendingQuery = nil
        switch answer {
        case .committedOffsets(let offsets):
            guard let offset = offsets.first?.offset else { return }
            assignedPartitions[partition.partition]?.resume(at: offset, in: topic)
            openGaps.open[partition]?.pendingQuery = consumer.submit(.watermarks([partition]))
        case .watermarks(let watermarksByPartition):
            guard let watermarks = watermarksByPartition[partition],
                let part = assignedPartitions[partition.partition]
            else {
                return
            }
            let committed = part.nextOffset(in: topic) ?? watermarks.low
            resolve(
                OffsetGap(partition: partition, committed: committed, watermarks: watermarks), in: topic)
        case .failed(_, let error):
            log.warning("a partition cannot be asked for its ends now", .field("error", error))
        case .firstRecords: break
        }
    }

    /// Continues behind the gap, or waits for the operator.
    private func resolve(_ gap: OffsetGap, in topic: Int) {
        switch gap.assessment(for: topics[topic]) {
        case .inRange: continueReading(after: gap, in: topic, at: gap.committed)
        case .transactionMarker:
            log.info(
                "only the end of a transaction was deleted before it was read",
                .field("partition", gap.partition.description), .field("offset", gap.committed))
            continueReading(after: gap, in: topic, at: gap.watermarks.low)
        case .expired:
            log.error(
                "records expired before they were read; the partition continues behind them: find out why the stage stood still",
                .field("partition", gap.partition.description), .field("from", gap.committed),
                .field("to", gap.watermarks.low))
            consumer.countSkippedOffsets(gap.missingCount)
            continueReading(after: gap, in: topic, at: gap.watermarks.low)
        case .recordsLost, .logIsShorter: wait(for: gap, in: topic)
        }
    }

    /// Forgets the gap, and serves the partition from the offset.
    private func continueReading(after gap: OffsetGap, in topic: Int, at offset: Int64) {
        openGaps.open[gap.partition] = nil
        stoppedPartitions.remove(gap.partition)
        let partition = gap.partition.partition
        assignedPartitions[partition]?.resume(at: offset, in: topic)
        // Another topic of the same partition number may have a gap too.
        if let otherStopped = stoppedPartitions.first(where: { $0.partition == partition }) {
            if openGaps.open[otherStopped] == nil { inspect(otherStopped) }
            return
        }
        resumeServing(partition)
    }

    /// Lets the partition wait, and logs once what the operator has to do.
    private func wait(for gap: OffsetGap, in topic: Int) {
        let advice =
            "\(gap.description); stop every process of this stage, then continue with: flotilla replay offset --topic \(topics[topic].rawValue) --partition \(gap.partition.partition) --to beginning"
        assignedPartitions[gap.partition.partition]?.state = .outOfRange(advice)
        if openGaps.open[gap.partition]?.lastFound == gap { return }
        openGaps.open[gap.partition]?.lastFound = gap
        log.error(
            "a partition cannot continue, because its committed offset is out of range",
            .field("partition", gap.partition.description), .field("reason", advice))
    }
}
