internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

extension InsightLoop {
    /// The pause between two starts. Each start fetches all partitions again.
    private static let startIntervalMilliseconds = 1000

    /// Asks for the first and the end offsets of partitions, and starts to read those whose offsets are known.
    func queryEndsAndStartReading(at now: Instant) {
        endOffsets.submitDueQuery(at: now, with: endOffsetQueries.submit)
        for (query, result) in endOffsetQueries.takeResults() {
            for answer in endOffsets.handle(result, to: query, at: now) {
                prepareStart(of: answer.partition, between: answer.watermarks)
            }
        }
        startAllPartitions(at: now)
    }

    /// Prepares the start of one partition of an open lane: its file decides whether it continues, skips
    /// deleted records, or is rebuilt. `startAllPartitions` starts it.
    private func prepareStart(of topicPartition: TopicPartition, between ends: Watermarks) {
        guard let lane = lanes[topicPartition.partition], let topic = topic(of: topicPartition),
            fullFiles[topicPartition] == nil
        else { return }
        let position = lane.files[topic.rawValue].position
        switch position.match(ends: ends, of: topic.name, isCompacted: layout.isCompacted(topic.name)) {
        case .continues: break
        case .nothingMissing: lane.skip(topic, to: ends.low)
        case .recordsExpired(let gap):
            log.error(
                "records were deleted before insight read them; its figures lack them: find out why the stage stood still",
                .field("partition", topicPartition.description), .field("from", gap.committed),
                .field("to", ends.low))
            consumer.countSkippedOffsets(gap.missingCount)
            lane.skip(topic, to: ends.low)
        case .differentTopic(let gap):
            return reopen(
                lane: topicPartition.partition,
                after: LaneFileFailure(
                    error: StoreError.corrupt(path: topicPartition.description, damage: gap.description),
                    of: topic))
        }
        lane.startReading(topic, from: ends.low)
        mustStartPartitions = true
    }

    /// Starts all partitions whose ends are known, also those that are read already. The caller has no batch in
    /// hand, because its records would come again.
    private func startAllPartitions(at now: Instant) {
        // While lanes are still being opened, their partitions are collected for one start, but no longer than the
        // pause.
        let isOpeningLanes = unopenedLanes.values.contains { $0 <= now }
        let isCollecting = isOpeningLanes && now < nextPartitionStart
        guard mustStartPartitions, !isCollecting else { return }
        nextPartitionStart = now.advanced(byMilliseconds: Self.startIntervalMilliseconds)
        commitFiles()
        var offsets: [TopicPartition: Int64] = [:]
        for lane in lanes.values { offsets.merge(lane.startOffsets) { $1 } }
        do throws(KafkaError) {
            consumer.resume(Array(offsets.keys))
            try consumer.startReading(at: offsets)
            mustStartPartitions = false
        } catch {
            log.warning("lanes cannot be read now; the stage tries again", .field("error", error))
        }
    }
}
