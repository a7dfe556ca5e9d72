internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

// The clocks: whether the reports of a batch wait because a clock is wrong (`ClockWait`), the stamps that the cluster's
// clock learns from reports, and the difference that an operator has to see.

extension IngestDecider {
    /// The time for decisions, in milliseconds since 1970.
    private var decisionTime: Int64 {
        stage.clock.decisionTime(at: stage.time.now()) ?? stage.time.wall().milliseconds
    }

    /// The milliseconds by which this machine's clock is ahead of the cluster's, if an operator must set it; else 0.
    private var clockDifference: Int64 {
        let difference = stage.clock.machineAheadMilliseconds
        return abs(difference) > ClockWait.toleranceMilliseconds ? difference : 0
    }

    /// The action that an operator must take. Nil if no action is needed.
    var clockProblem: String? {
        let difference = clockDifference
        if difference == 0 { return nil }
        let side = difference > 0 ? "ahead of" : "behind"
        let seconds = Double(difference.magnitude) / 1000
        let consequence = clockWait.isWaiting ? "; reports wait" : ""
        return
            "the clock of this machine is \(seconds) s \(side) the cluster's; set the clock that is wrong\(consequence)"
    }

    // MARK: Waiting

    /// Sets the time for the batch's decisions. Returns whether the batch may be merged now. If not, the loop reads it
    /// again after a pause.
    func prepare(for batch: borrowing PendingBatch) -> Bool {
        observeYoungStamps(in: batch)
        decidedAt = decisionTime
        let mustWait = clockWait.mustWait(
            newestStamp: newestStamp(in: batch), decisionTime: decidedAt,
            isMachineConfirmed: stage.clock.isMachineConfirmed, at: stage.time.now())
        if mustWait {
            stage.member.startOverLater()
        } else {
            mergers.refresh()
        }
        return !mustWait
    }

    /// Returns the newest stamp of the cluster in the batch. Stamps of producers do not count.
    private func newestStamp(in batch: borrowing PendingBatch) -> Int64? {
        var newest: Int64?
        for part in batch.parts {
            for index in part.indices where batch.records[index].isStampedByCluster {
                newest = [newest, batch.records[index].timestamp].compactMap(\.self).max()
            }
        }
        return newest
    }

    // MARK: Young stamps

    /// Gives the cluster's clock the stamps of reports that were surely written since the last poll, because they lie
    /// at or behind the end that their partition had then. The age of any other report is unknown.
    private func observeYoungStamps(in batch: borrowing PendingBatch) {
        let now = stage.time.now()
        let age = Int64(max(0, now.milliseconds(since: batch.previousPollAt)))
        for part in batch.parts {
            guard let first = part.indices.first, let last = part.indices.last else { continue }
            let nextOffset = batch.records[last].offset + 1
            if let end = reportEnds[part.partition] {
                let isWrittenSincePoll = end <= batch.records[first].offset
                if isWrittenSincePoll, batch.records[last].isStampedByCluster,
                    let stamp = batch.records[last].timestamp
                {
                    stage.clock.observe(stamp: stamp, writtenWithin: age, at: now)
                }
                if end < nextOffset { reportEnds[part.partition] = nil }
            }
            noteEnd(of: part.partition, nextOffset: nextOffset, isBatchFull: batch.records.isFull)
        }
    }

    /// Notes the end of a partition if the batch has reached it. Kafka itself reports an end only after a wait without
    /// records, so the partition's last known offset is compared.
    private func noteEnd(of partition: Int32, nextOffset: Int64, isBatchFull: Bool) {
        if !isBatchFull,
            let watermarks = stage.consumer.knownWatermarks(
                of: stage.topicPartition(of: .reports, number: partition)),
            nextOffset >= watermarks.high
        {
            reportEnds[partition] = nextOffset
        }
    }

    /// Notes ends of partitions, and the answer to `queryYoungReports`.
    func handle(_ event: ConsumerEvent) {
        switch event {
        case .reachedEnd(let topicPartition, let offset): reportEnds[topicPartition.partition] = offset
        // After a failed fetch a report may have waited, so it is older than it looks.
        case .failed: reportEnds = [:]
        case .queryCompleted(youngReportsQuery, .firstRecords(let time, let offsets)):
            // An offset is nil if the partition has no report since `time`.
            let hasYoungReport = offsets.values.contains { $0 != nil }
            if hasYoungReport {
                stage.clock.observe(stamp: time, at: stage.time.now())
            }
        default: break
        }
    }

    /// Asks for reports that are at most a minute old by this machine's clock. If there is one, the clock is
    /// not ahead.
    func queryYoungReports(in partitions: [TopicPartition]) {
        if partitions.isEmpty { return }
        let time = stage.time.wall().milliseconds - ClockWait.toleranceMilliseconds
        youngReportsQuery = stage.consumer.submit(.firstRecords(sinceMilliseconds: time, partitions))
    }

    // MARK: Upkeep

    /// Ends the wait of reports if the clock has been set, and reports a difference of the clocks. Called once a
    /// second.
    func checkClocks(at now: Instant) {
        clockWait.update(decisionTime: decisionTime, at: now)
        let difference = clockDifference
        metrics.clockAheadSeconds.set(Double(difference) / 1000)
        if difference != 0 {
            queryYoungReports(
                in: stage.member.assignedPartitions.keys.map {
                    stage.topicPartition(of: .reports, number: $0)
                })
        }
        logIfChanged(clocksDiffer: difference != 0)
    }

    private func logIfChanged(clocksDiffer: Bool) {
        if isDifferenceLogged == clocksDiffer { return }
        isDifferenceLogged = clocksDiffer
        if let clockProblem {
            stage.log.error("clocks differ too much", .field("reason", clockProblem))
        } else {
            stage.log.info("the clocks do not differ any more")
        }
    }
}
