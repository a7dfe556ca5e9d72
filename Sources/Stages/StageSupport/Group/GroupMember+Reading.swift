internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

// Serving the partitions, and the positions from which the consumer reads them.

extension GroupMember {
    // MARK: Serving

    /// Serves the records of a partition. The loop calls it when the state that they need is complete. If the
    /// partition's position is not known yet, the partition is served as soon as it is.
    package func startServing(_ partition: Int32) {
        guard !isStartingOver, let part = assignedPartitions[partition], part.state == .restoring else {
            return
        }
        if let gap = stoppedPartitions.first(where: { $0.partition == partition }) { return inspect(gap) }
        guard !mustStartReading, resumeReading(topicsAt: Array(topics.indices), of: partition) else {
            if !isStartingOver { partitionsAwaitingPosition.insert(partition) }
            return
        }
        partitionsAwaitingPosition.remove(partition)
        assignedPartitions[partition]?.state = .serving
        startOverPause = StartOverPause()
        restoreSeconds.observe(time.now().seconds(since: part.restoringSince))
        owner?.partitionStartedServing(partition)
    }

    /// Continues to read some topics of a partition. Returns false if a position is not known yet, or if the seek
    /// failed and the loop starts over.
    ///
    /// - Parameter indices: the topics, by their index in the subscription.
    package func resumeReading(topicsAt indices: [Int], of partition: Int32) -> Bool {
        var starts: [PartitionStart] = []
        for index in indices {
            let topicPartition = topicPartition(of: topics[index], number: partition)
            guard let offset = position(of: topicPartition) else { return false }
            starts.append(PartitionStart(partition: topicPartition, position: .offset(offset)))
        }
        do {
            // A pause remembers the position, and a resume goes back to it. The seek therefore comes last.
            consumer.resume(starts.map(\.partition))
            try consumer.seek(to: starts, withinMilliseconds: BlockingCallLimit.millisecondsMax)
            return true
        } catch {
            log.warning(
                "cannot continue reading now; trying again", .field("topics", topicNames),
                .field("error", error))
            startOverLater()
            return false
        }
    }

    /// Serves a partition from its new position, in the next iteration. Its records have the state that they need.
    func resumeServing(_ partition: Int32) {
        assignedPartitions[partition]?.state = .restoring
        partitionsAwaitingPosition.insert(partition)
        mustStartReading = true
    }

    /// Does the work of an iteration while no start-over is due.
    func performReadingWork() throws {
        let now = time.now()
        if mustStartReading { startReadingAll() }
        if isStartingOver { return }
        awaitedFirstOffsets.submitDueQuery(at: now, with: consumer.submit)
        for partition in partitionsAwaitingPosition.sorted() { startServing(partition) }
        recheckGaps(at: now)
        if !isHoldingRecords, uncommittedEnds.isDue(at: now) { try commitEnds() }
    }

    // MARK: Positions

    /// Starts the consumer at every partition whose position is known. The served partitions continue at their
    /// committed offsets, so the loop must hold no batch: its records come again.
    func startReadingAll() {
        var offsets: [TopicPartition: Int64] = [:]
        for partition in topicPartitions(numbered: assignedPartitions.keys) {
            offsets[partition] = position(of: partition)
        }
        do throws(KafkaError) {
            try consumer.startReading(at: offsets)
        } catch {
            return tryAgainLater(because: error.description)
        }
        stoppedPartitions = []
        mustStartReading = false
    }

    /// Returns the offset of the next record to read, or nil if it is not known yet.
    private func position(of partition: TopicPartition) -> Int64? {
        guard let topic = topicIndex(of: partition) else { return nil }
        return assignedPartitions[partition.partition]?.nextOffset(in: topic) ?? firstOffsets[partition]
    }
}
