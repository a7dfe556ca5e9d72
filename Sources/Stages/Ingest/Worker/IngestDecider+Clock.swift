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
    private static let brokerMilliseconds = 600_000
    /// The pause between two looks at reports whose stamps lead the time for decisions.
    private static let lookMilliseconds = 5000

    /// The time for decisions, in milliseconds since 1970.
    private var decisionTime: Int64 {
        stage.clock.decisionTime(at: stage.time.now()) ?? stage.time.wall().milliseconds
    }

    /// The milliseconds by which this machine's clock is ahead of the cluster's, if an operator must set it; else 0.
    private var difference: Int64 {
        let ahead = stage.clock.machineAheadMilliseconds
        return abs(ahead) > Self.toleranceMilliseconds ? ahead : 0
    }

    /// The action that an operator must take. Nil if no action is needed.
    var clockProblem: String? {
        let ahead = difference
        if ahead == 0 { return nil }
        let side = ahead > 0 ? "ahead of" : "behind"
        let seconds = Double(ahead.magnitude) / 1000
        let consequence = leadingStamp == nil ? "" : "; reports wait"
        return
            "the clock of this machine is \(seconds) s \(side) the cluster's; set the clock that is wrong\(consequence)"
    }

    /// Decides whether the batch may be merged. A clock that is behind would send good reports to the dead letters, as
    /// written in the future. They wait until the clock is set, or until the cluster's time is proven by newer stamps.
    func begin(_ hand: borrowing BatchInHand) -> Bool {
        noteYoungStamps(hand)
        decidedAt = decisionTime
        let now = stage.time.now()
        guard let newest = newestStamp(hand), newest > decidedAt + Self.toleranceMilliseconds,
            mustWaitForClock(at: now)
        else {
            leadingStamp = nil
            merges.refresh()
            return true
        }
        leadingStamp = newest - now.milliseconds
        nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
        stage.member.startOverLater()
        return false
    }

    private func mustWaitForClock(at now: Instant) -> Bool {
        let isNew = nextLook.advanced(byMilliseconds: Self.brokerMilliseconds) < now
        if isNew || leadingSince == nil { leadingSince = now }
        guard stage.clock.isMachineConfirmed, let since = leadingSince else { return true }
        return now.milliseconds(since: since) < Self.brokerMilliseconds
    }

    private func newestStamp(_ hand: borrowing BatchInHand) -> Int64? {
        var newest: Int64?
        for part in hand.parts {
            for index in part.indices where hand.batch[index].isStampedByCluster {
                newest = [newest, hand.batch[index].timestamp].compactMap(\.self).max()
            }
        }
        return newest
    }

    /// Gives the clock the stamps of reports that were surely written since the last poll: they lie where their partition
    /// ended then. The age of any other report is unknown. Kafka reports the end of a partition only after a wait
    /// without records. So a partition has also reached its end if the batch contains its last known record.
    private func noteYoungStamps(_ hand: borrowing BatchInHand) {
        let now = stage.time.now()
        let age = Int64(max(0, now.milliseconds(since: hand.polledBefore)))
        for part in hand.parts {
            guard let first = part.indices.first, let last = part.indices.last else { continue }
            let next = hand.batch[last].offset + 1
            let end = reportEnds[part.partition]
            if let end, end < next { reportEnds[part.partition] = nil }
            if let end, end <= hand.batch[first].offset, hand.batch[last].isStampedByCluster,
                let stamp = hand.batch[last].timestamp
            {
                stage.clock.saw(stamp, writtenWithin: age, at: now)
            }
            if !hand.batch.isFull,
                let known = stage.consumer.knownWatermarks(of: stage.place(.reports, part.partition)),
                next >= known.high
            {
                reportEnds[part.partition] = next
            }
        }
    }

    func hear(_ event: ConsumerEvent) {
        switch event {
        case .reachedEnd(let place, let offset): reportEnds[place.partition] = offset
        // After a failed fetch a report may have waited, so it is older than it looks.
        case .failed: reportEnds = [:]
        case .queryCompleted(youngReports, .firstRecords(let time, let found)):
            if found.values.contains(where: { $0 != nil }) { stage.clock.saw(time, at: stage.time.now()) }
        default: break
        }
    }

    /// Looks at the clocks again. The loop calls it once a second.
    func recheckClock(_ now: Instant) {
        if let stamp = leadingStamp,
            stamp + now.milliseconds <= decisionTime + Self.toleranceMilliseconds
        {
            leadingStamp = nil
        }
        let ahead = difference
        metrics.clockAhead.set(Double(ahead) / 1000)
        if ahead != 0 { askForYoungReports(stage.member.owned.keys.map { stage.place(.reports, $0) }) }
        if isDifferenceTold == (ahead != 0) { return }
        isDifferenceTold = ahead != 0
        if let clockProblem {
            stage.log.error("clocks differ too much", .field("reason", clockProblem))
        } else {
            stage.log.info("the clocks do not differ any more")
        }
    }

    /// Asks for reports that are at most a minute old by this machine's clock. If there is one, the clock is
    /// not ahead.
    func askForYoungReports(_ places: [TopicPartition]) {
        if places.isEmpty { return }
        let time = stage.time.wall().milliseconds - Self.toleranceMilliseconds
        youngReports = stage.consumer.submit(.firstRecords(sinceMilliseconds: time, places))
    }
}
