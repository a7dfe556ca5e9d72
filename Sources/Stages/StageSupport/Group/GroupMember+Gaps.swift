internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

/// The partitions whose committed offset is out of range.
struct OpenGaps {
    /// The pause between two looks at a partition that waits for the operator.
    static let againMilliseconds = 10_000

    struct Gap {
        /// The question that is out.
        var question: OffsetQueryID?
        /// The gap that was found last; it is reported once.
        var found: OffsetGap?
        var nextLook: Instant
    }

    var open: [TopicPartition: Gap] = [:]

    func partition(askedBy id: OffsetQueryID) -> TopicPartition? {
        open.first { $0.value.question == id }?.key
    }
}

extension GroupMember {
    /// Kafka no longer has the next record of a partition. The partition waits, alone, until the reason is known.
    func hearOutOfRange(_ partition: TopicPartition) {
        stopped.insert(partition)
        // A partition that does not flow is looked at when it has what its records need.
        if owned[partition.partition]?.isServing == true { lookAt(partition) }
    }

    /// Asks where a stopped partition begins and ends.
    func lookAt(_ partition: TopicPartition) {
        owned[partition.partition]?.state = .outOfRange("\(partition) is asked for its ends")
        consumer.pause(partitions([partition.partition]))
        // Records below an end that was reached before may be read again.
        for place in partitions([partition.partition]) { ends.removeEnd(of: place) }
        gaps.open[partition] = OpenGaps.Gap(
            question: consumer.submit(.watermarks([partition])), found: gaps.open[partition]?.found,
            nextLook: time.now().advanced(byMilliseconds: OpenGaps.againMilliseconds))
    }

    /// Looks again at the partitions that wait: the operator may have set an offset, or records may be back.
    func lookAtGaps(at now: Instant) {
        for (partition, gap) in gaps.open where now >= gap.nextLook {
            gaps.open[partition]?.question = consumer.submit(.committedOffsets([partition]))
            gaps.open[partition]?.nextLook = now.advanced(byMilliseconds: OpenGaps.againMilliseconds)
        }
    }

    func hearGap(_ answer: OffsetQueryResult, to id: OffsetQueryID) throws {
        guard let partition = gaps.partition(askedBy: id), let topic = index(of: partition) else { return }
        gaps.open[partition]?.question = nil
        switch answer {
        case .committedOffsets(let offsets):
            guard let offset = offsets.first?.offset else { return }
            owned[partition.partition]?.begin(at: offset, in: topic)
            gaps.open[partition]?.question = consumer.submit(.watermarks([partition]))
        case .watermarks(let ends):
            guard let ends = ends[partition], let part = owned[partition.partition] else { return }
            let committed = part.next(in: topic) ?? ends.low
            judge(OffsetGap(partition: partition, committed: committed, watermarks: ends), in: topic)
        case .failed(_, let error):
            log.warning("a partition cannot be asked for its ends now", .field("error", error))
        case .firstRecords: break
        }
    }

    private func judge(_ gap: OffsetGap, in topic: Int) {
        switch gap.assessment(for: topics[topic]) {
        case .inRange: goOn(gap, in: topic, at: gap.committed)
        case .transactionMarker:
            log.info(
                "only the end of a transaction was deleted before it was read",
                .field("partition", gap.partition.description), .field("offset", gap.committed))
            goOn(gap, in: topic, at: gap.watermarks.low)
        case .expired:
            log.error(
                "records expired before they were read; the partition continues behind them: find out why the stage stood still",
                .field("partition", gap.partition.description), .field("from", gap.committed),
                .field("to", gap.watermarks.low))
            consumer.countSkippedOffsets(gap.missingCount)
            goOn(gap, in: topic, at: gap.watermarks.low)
        case .recordsLost, .logIsShorter: wait(for: gap, in: topic)
        }
    }

    private func goOn(_ gap: OffsetGap, in topic: Int, at offset: Int64) {
        gaps.open[gap.partition] = nil
        stopped.remove(gap.partition)
        let partition = gap.partition.partition
        owned[partition]?.begin(at: offset, in: topic)
        // Another topic of the same partition number may have a gap too.
        if let other = stopped.first(where: { $0.partition == partition }) {
            if gaps.open[other] == nil { lookAt(other) }
            return
        }
        flowAgain(partition)
    }

    private func wait(for gap: OffsetGap, in topic: Int) {
        let advice =
            "\(gap.description); stop every process of this stage, then continue with: flotilla replay offset --topic \(topics[topic].rawValue) --partition \(gap.partition.partition) --to beginning"
        owned[gap.partition.partition]?.state = .outOfRange(advice)
        if gaps.open[gap.partition]?.found == gap { return }
        gaps.open[gap.partition]?.found = gap
        log.error(
            "a partition cannot continue, because its committed offset is out of range",
            .field("partition", gap.partition.description), .field("reason", advice))
    }
}
