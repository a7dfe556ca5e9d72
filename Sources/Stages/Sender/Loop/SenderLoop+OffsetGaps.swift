internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry

// Partitions of jobs whose next offset is out of range, because its record was deleted, or records were lost.
// `OffsetGap` decides between these causes, by the watermarks of the partition: its first offset and its end.
extension SenderLoop {
    /// Asks for the first offset and the end of a partition whose next offset is out of range.
    func askForWatermarks(of partition: TopicPartition) {
        partitionsOutOfRange.add([partition], at: loop.now)
        queryWatermarks()
    }

    /// Submits the queries that are due. A failed one is due again after a pause.
    func queryWatermarks() {
        partitionsOutOfRange.submitDueQuery(at: loop.now, with: consumer.submit)
    }

    /// Continues the partitions whose next offset is out of range, unless records were lost.
    func watermarksAnswered(_ answer: OffsetQueryResult, to id: OffsetQueryID) {
        if case .failed(let partitions, let error) = answer,
            partitions.contains(where: partitionsOutOfRange.contains)
        {
            log.warning(
                "a partition of jobs cannot be asked for its ends now; trying again", .field("error", error))
        }
        for found in partitionsOutOfRange.handle(answer, to: id, at: loop.now) {
            continueReading(found.partition, between: found.watermarks)
        }
    }

    private func continueReading(_ partition: TopicPartition, between ends: Watermarks) {
        guard let topic = topics[partition.topic],
            let position = plan.position(of: topic, lane: partition.partition)
        else { return }
        // The partition began at offset 0, because the group had committed none, and its first record lies after that.
        if partitionsWithoutOffset.remove(partition) != nil {
            plan.recordsAreGone(below: ends.low, of: topic, lane: partition.partition)
            return restartReading()
        }
        let gap = OffsetGap(partition: partition, committed: position, watermarks: ends)
        switch gap.assessment(for: topic.topic) {
        case .inRange: restartReading()
        case .transactionMarker:
            plan.recordsAreGone(below: ends.low, of: topic, lane: partition.partition)
            restartReading()
        case .expired:
            log.error(
                "jobs expired before they were read; the partition continues behind them: find out why the senders stood still",
                .field("partition", partition.description), .field("from", position), .field("to", ends.low))
            consumer.countSkippedOffsets(gap.missingCount)
            plan.recordsAreGone(below: ends.low, of: topic, lane: partition.partition)
            restartReading()
        case .recordsLost, .logIsShorter:
            unreadablePartitions.append(gap.description)
            log.error(
                "a partition of jobs cannot continue, because its committed offset is out of range: stop every sender, then continue with flotilla replay offset",
                .field("partition", partition.description), .field("reason", gap.description))
        }
    }

    /// Starts to read all partitions again, each from the position in the plan. A partition that was out of range
    /// continues.
    private func restartReading() {
        var offsets: [TopicPartition: Int64] = [:]
        for partition in consumer.partitions {
            guard let topic = topics[partition.topic] else { continue }
            offsets[partition] = plan.position(of: topic, lane: partition.partition)
        }
        do throws(KafkaError) {
            try consumer.startReading(at: offsets)
        } catch {
            // The membership has ended. The lanes are lost, and the group assigns new ones.
            log.warning("partitions of jobs cannot be read on now", .field("error", error))
        }
    }
}
