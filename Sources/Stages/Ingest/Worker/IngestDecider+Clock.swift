internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

extension IngestDecider {
    /// The difference below which clocks count as right. It is smaller than the difference that the merge
    /// treats as the future.
    private static let toleranceMilliseconds: Int64 = 60_000
    /// The time for which reports wait for the clock of the broker that leads their partition, if other stamps agree with
    /// this machine. After it they are merged, and those in the future are rejected.
    private static let brokerClockWaitMilliseconds = 600_000
    /// The pause between two looks at reports whose stamps lead the time for decisions.
    private static let recheckMilliseconds = 5000

    /// The time for decisions, in milliseconds since 1970.
    private var decisionTime: Int64 {
        stage.clock.decisionTime(at: stage.time.now()) ?? stage.time.wall().milliseconds
    }

    /// The milliseconds by which this machine's clock is ahead of the cluster's, if an operator must set it; else 0.
    private var clockDifference: Int64 {
        let ahead = stage.clock.machineAheadMilliseconds
        return abs(ahead) > Self.toleranceMilliseconds ? ahead : 0
    }

    /// The action that an operator must take. Nil if no action is needed.
    var clockProblem: String? {
        let ahead = clockDifference
        if ahead == 0 { return nil }
        let side = ahead > 0 ? "ahead of" : "behind"
        let seconds = Double(ahead.magnitude) / 1000
        let consequence = leadingStampOffset == nil ? "" : "; reports wait"
        return
            "the clock of this machine is \(seconds) s \(side) the cluster's; set the clock that is wrong\(consequence)"
    }

    /// Decides whether the batch may be merged. A clock that is behind would send good reports to the dead letters, as
    /// written in the future. They wait until the clock is set, or until the cluster's time is proven by newer stamps.
    func prepare(for batch: borrowing PendingBatch) -> Bool {
        observeYoungStamps(in: batch)
        decidedAt = decisionTime
        let now = stage.time.now()
        guard let newest = newestStamp(in: batch), newest > decidedAt + Self.toleranceMilliseconds,
            mustWaitForClock(at: now)
        else {
            leadingStampOffset = nil
            mergers.refresh()
            return true
        }
        leadingStampOffset = newest - now.milliseconds
        nextClockCheck = now.advanced(byMilliseconds: Self.recheckMilliseconds)
        stage.member.startOverLater()
        return false
    }

    private func mustWaitForClock(at now: Instant) -> Bool {
        let isNew = nextClockCheck.advanced(byMilliseconds: Self.brokerClockWaitMilliseconds) < now
        if isNew || leadingSince == nil { leadingSince = now }
        guard stage.clock.isMachineConfirmed, let since = leadingSince else { return true }
        return now.milliseconds(since: since) < Self.brokerClockWaitMilliseconds
    }

    private func newestStamp(in batch: borrowing PendingBatch) -> Int64? {
        var newest: Int64?
        for part in batch.parts {
            for index in part.indices where batch.records[index].isStampedByCluster {
                newest = [newest, batch.records[index].timestamp].compactMap(\.self).max()
            }
        }
        return newest
    }

    /// Gives the clock the stamps of reports that were surely written since the last poll: they lie where their partition
    /// ended then. The age of any other report is unknown. Kafka reports the end of a partition only after a wait
    /// without records. So a partition has also reached its end if the batch contains its last known record.
    private func observeYoungStamps(in batch: borrowing PendingBatch) {
        let now = stage.time.now()
        let age = Int64(max(0, now.milliseconds(since: batch.previousPollAt)))
        for part in batch.parts {
            guard let first = part.indices.first, let last = part.indices.last else { continue }
            let next = batch.records[last].offset + 1
            let end = reportEnds[part.partition]
            if let end, end < next { reportEnds[part.partition] = nil }
            if let end, end <= batch.records[first].offset, batch.records[last].isStampedByCluster,
                let stamp = batch.records[last].timestamp
            {
                stage.clock.observe(stamp: stamp, writtenWithin: age, at: now)
            }
            if !batch.records.isFull,
                let known = stage.consumer.knownWatermarks(
                    of: stage.topicPartition(of: .reports, number: part.partition)),
                next >= known.high
            {
                reportEnds[part.partition] = next
            }
        }
    }

    func handle(_ event: ConsumerEvent) {
        switch event {
        case .reachedEnd(let place, let offset): reportEnds[place.partition] = offset
        // After a failed fetch a report may have waited, so it is older than it looks.
        case .failed: reportEnds = [:]
        case .queryCompleted(youngReportsQuery, .firstRecords(let time, let found)):
            if found.values.contains(where: { $0 != nil }) {
                stage.clock.observe(stamp: time, at: stage.time.now())
            }
        default: break
        }
    }

    /// Looks at the clocks again. The loop calls it once a second.
    func recheckClock(at now: Instant) {
        if let stamp = leadingStampOffset,
            stamp + now.milliseconds <= decisionTime + Self.toleranceMilliseconds
        {
            leadingStampOffset = nil
        }
        let ahead = clockDifference
        metrics.clockAhead.set(Double(ahead) / 1000)
        if ahead != 0 {
            queryYoungReports(
                in: stage.member.assignedPartitions.keys.map {
                    stage.topicPartition(of: .reports, number: $0)
                })
        }
        if isDifferenceLogged == (ahead != 0) { return }
        isDifferenceLogged = ahead != 0
        if let clockProblem {
            stage.log.error("clocks differ too much", .field("reason", clockProblem))
        } else {
            stage.log.info("the clocks do not differ any more")
        }
    }

    /// Asks for reports that are at most a minute old by this machine's clock. If there is one, the clock is
    /// not ahead.
    func queryYoungReports(in partitions: [TopicPartition]) {
        if partitions.isEmpty { return }
        let time = stage.time.wall().milliseconds - Self.toleranceMilliseconds
        youngReportsQuery = stage.consumer.submit(.firstRecords(sinceMilliseconds: time, partitions))
    }
}
