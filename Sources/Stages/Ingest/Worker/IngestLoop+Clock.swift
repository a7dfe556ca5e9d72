internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry

extension IngestLoop {
    /// The time for decisions, in milliseconds since 1970.
    var decisionTime: Int64 { clockCheck.time(clock().milliseconds, at: .now()) }

    var isClockProven: Bool { judgeClock() == .agrees }

    /// Gives the batch's stamps to the clock check. A record at the offset where its partition ended at the
    /// last poll was written since that poll. The age of any other record is unknown. Kafka reports the end
    /// of a partition only after a wait without records. So a partition has also reached its end if the batch
    /// contains its last known record.
    func noteStamps(_ events: [ConsumerEvent], polledBefore: Instant) {
        var ends: [Int32: Int64] = [:]
        for event in events {
            switch event {
            case .end(let place, let offset): ends[place.partition] = offset
            // After a failed fetch a record may have waited, so it is older than it looks.
            case .failed: reportEnds = [:]
            default: break
            }
        }
        let now = Instant.now()
        var place = 0
        while place < batch.count {
            let partition = batch[place].partition
            let first = batch[place].offset
            var newest: Int64?
            var last = first
            while place < batch.count, batch[place].partition == partition {
                if batch[place].isStampedByCluster, let stamp = batch[place].timestamp {
                    newest = max(newest ?? stamp, stamp)
                }
                last = batch[place].offset
                place += 1
            }
            let end = [ends[partition], reportEnds[partition]].compactMap(\.self).filter { $0 <= first }.max()
            reportEnds[partition] = nil
            if let end = ends[partition], end <= last { ends[partition] = nil }
            if !batch.isFull,
                let known = reports.knownWatermarks(of: TopicPartition(reportsTopic, partition)),
                last + 1 >= known.high
            {
                ends[partition] = last + 1
            }
            guard let newest, member.owned[partition]?.isServing == true else { continue }
            let age = end.map { _ in Int64(max(0, now.milliseconds(since: polledBefore))) }
            clockCheck.saw(newest, in: partition, age: age, at: now)
        }
        reportEnds.merge(ends) { _, new in new }
    }

    /// Whether the clock allows to merge a batch. If it is wrong, the batch is read again later.
    func trustsClock() -> Bool {
        if !judgeClock().isWrong { return true }
        member.startOverLater()
        return false
    }

    /// Checks the clock again. The loop calls it once a second.
    func recheckClock() {
        if wrongClock != nil {
            askForYoungReports(member.owned.keys.map { TopicPartition(reportsTopic, $0) })
        }
        if judgeClock().isWrong, !member.mustStartOver { member.startOverLater() }
    }

    /// Asks for reports that are at most a minute old by this machine's clock. If there is one, the clock is
    /// not ahead.
    func askForYoungReports(_ places: [TopicPartition]) {
        guard !places.isEmpty, !isClockProven else { return }
        let time = clock().milliseconds - ClockCheck.toleranceMilliseconds
        youngReports = reports.ask(.records(sinceMilliseconds: time, places))
    }

    /// Takes the answer to the newest question for young reports.
    func hearYoungReports(_ event: ConsumerEvent) {
        guard case .answered(youngReports, .records(let time, let found)) = event else { return }
        for (place, offset) in found where offset != nil {
            clockCheck.reaches(time, in: place.partition, at: .now())
        }
    }

    @discardableResult
    private func judgeClock() -> ClockCheck.Verdict {
        let verdict = clockCheck.judge(clock().milliseconds, at: .now())
        switch verdict {
        case .wrong(_, let ahead):
            if wrongClock == nil {
                log.error("clocks differ too much to merge reports", .field("reason", verdict.description))
            }
            wrongClock = verdict.description
            metrics.clockAhead.set(Double(ahead) / 1000)
        case .agrees, .unproven:
            if wrongClock != nil { log.info("the clocks do not differ any more; reports are merged again") }
            wrongClock = nil
            metrics.clockAhead.set(0)
        }
        return verdict
    }
}
