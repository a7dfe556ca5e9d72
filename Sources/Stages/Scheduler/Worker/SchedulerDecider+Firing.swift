internal import Containers
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

extension SchedulerDecider {
    /// The time before a timer is due at which the loop asks for the end of the orders.
    private static let endQueryAheadMilliseconds: Int64 = 250
    /// The pause between two questions for the time.
    private static let timeProbeIntervalMilliseconds = 1000

    /// The age at which the newest stamp is stale and the scheduler asks for the time.
    private static let freshStampMilliseconds = 10_000
    /// The wait for the first stamp of the cluster.
    private static let firstStampWaitMilliseconds = 20
    /// A longer wait is not needed, because the loop does not wait for as long.
    private static let waitMillisecondsMax: Int64 = 60_000

    private var servingPartitions: [SchedulesPartition] {
        stage.member.assignedPartitions.values.filter(\.isServing)
    }
    private var nextDueTime: Int64? { servingPartitions.compactMap(\.upcomingTimers.first?.dueAt).min() }

    /// Fires the due timers in one transaction, the oldest first over all partitions.
    func performDueWork(at now: Instant) throws -> Wakeup? {
        guard try fillUpcomingTimers() else { return nil }
        guard let next = nextDueTime else {
            stage.metrics.oldestSeconds.set(0)
            return nil
        }
        let time = stage.clock.dueTime(at: now)
        probeTime(at: now, time: time, nextDueTime: next)
        guard let time else {
            return Wakeup(at: now.advanced(byMilliseconds: Self.firstStampWaitMilliseconds))
        }
        stage.metrics.oldestSeconds.set(Double(max(0, time - next)) / 1000)
        try queryOrderEnds(at: now, time: time)
        let budget = firingBudget.available(at: now)
        var firing = FiringBatch(time: time, countMax: min(settings.firesMax, budget))
        if next <= time, firing.countMax > 0 {
            guard try takeDueTimers(into: &firing) else { return nil }
            try commit(&firing)
        }
        // A due timer that cannot fire yet waits for orders or for the budget.
        let least: Int64 = firing.isEmpty && next <= time ? 1 : 0
        let wait = nextDueTime.map { min(max(least, $0 - time), Self.waitMillisecondsMax) }
        return wait.map { Wakeup(at: now.advanced(byMilliseconds: Int($0))) }
    }

    /// Returns false if a view is unusable.
    private func fillUpcomingTimers() throws -> Bool {
        for partition in stage.member.assignedPartitions.keys.sorted() {
            guard try fillUpcomingTimers(of: partition) else { return false }
        }
        return true
    }

    private func fillUpcomingTimers(of partition: Int32) throws -> Bool {
        while let part = stage.member.assignedPartitions[partition], part.isServing,
            part.upcomingTimers.needsPage
        {
            guard try readPage(of: partition, from: part.upcomingTimers.nextPageStart) else { return false }
        }
        return true
    }

    private func readPage(of partition: Int32, from begin: DueEntry?) throws -> Bool {
        guard let view = stage.views[partition] else { return false }
        var range = KeyRange(prefix: DueEntry.prefix)
        if let begin { range.advance(past: begin.storedKey.span) }
        var page: [DueEntry] = []
        let isMore: Bool
        do throws(StoreError) {
            isMore = try view.readPage(of: &range, rows: UpcomingTimers.pageRows) { key, _ in
                if let entry = DueEntry(storedKey: key) { page.append(entry) }
            }
        } catch {
            try stage.views.rebuild(partition, after: error)
            return false
        }
        stage.member.assignedPartitions[partition]?.upcomingTimers.add(page: page, isLast: !isMore)
        let overlay = stage.views.overlays[partition]
        stage.member.assignedPartitions[partition]?.upcomingTimers.retainUnwritten { overlay?[$0] != nil }
        stage.reportStep(.timerPageRead)
        return true
    }

    /// Writes a question to an assigned partition and reads it back there. The cluster's timestamp on it is
    /// the current time.
    private func probeTime(at now: Instant, time: Int64?, nextDueTime: Int64) {
        let isSoon = time.map { nextDueTime - $0 < Int64(Self.freshStampMilliseconds) } ?? true
        let isStale = lastStampedAt.map { now.milliseconds(since: $0) >= Self.freshStampMilliseconds } ?? true
        guard isSoon, isStale || isClockDoubtful, now >= nextTimeProbe,
            let partition = servingPartitions.map(\.partition).min()
        else { return }
        nextTimeProbe = now.advanced(byMilliseconds: Self.timeProbeIntervalMilliseconds)
        var headers = RecordHeaders(capacity: 0)
        let bytes = ScheduleRequest.timeProbeBytes
        stage.writer.send(
            to: stage.layout.name(of: .schedules), partition: partition, key: nil, value: bytes.span,
            headers: &headers)
        stage.reportStep(.timeProbeSent)
    }

    /// Asks for the end of the orders in partitions that have a timer due. A timer fires only when all
    /// cancels that arrived in time are known.
    private func queryOrderEnds(at now: Instant, time: Int64) throws {
        for (question, answer) in stage.writer.takeQueryResults() {
            for found in awaitedEnds.handle(answer, to: question, at: now) {
                let partition = found.partition.partition
                let position =
                    stage.member.assignedPartitions[partition]?.nextOffset(
                        in: SchedulerInputTopic.schedules.index) ?? 0
                stage.member.assignedPartitions[partition]?.orderProgress.recordEnd(
                    at: found.ends.high, requestedAt: stage.clock.dueTime(at: found.askedAt) ?? 0,
                    position: max(position, found.ends.low))
                stage.reportStep(.endsReceived)
            }
        }
        for part in servingPartitions {
            let place = stage.topicPartition(of: .schedules, number: part.partition)
            guard let first = part.upcomingTimers.first, first.dueAt <= time + Self.endQueryAheadMilliseconds,
                part.orderProgress.mustRequestEnd(at: time), !awaitedEnds.contains(place)
            else { continue }
            awaitedEnds.add([place], at: now)
        }
        try awaitedEnds.submitDueQuery(at: now, with: stage.writer.submit)
    }

    // MARK: One transaction

    /// The next entry of a partition.
    private struct NextTimer: Comparable {
        let entry: DueEntry
        let partition: Int32

        static func < (a: NextTimer, b: NextTimer) -> Bool { a.entry < b.entry }
    }

    /// Takes the due timers into the transaction. Returns false if a view is unusable.
    private func takeDueTimers(into firing: inout FiringBatch) throws -> Bool {
        beginTransaction()
        var heads = MinHeap<NextTimer>()
        var rows: [Int32: CommittedRows] = [:]
        for partition in stage.member.assignedPartitions.values.filter(\.isServing).map(\.partition) {
            if let head = nextTimer(of: partition, at: firing.time) { heads.push(head) }
            rows[partition] = committedRows(of: partition)
        }
        while firing.count < firing.countMax, !output.isFull, let head = heads.pop() {
            guard let rows = rows[head.partition] else { preconditionFailure("a head is of a partition") }
            _ = stage.member.assignedPartitions[head.partition]?.upcomingTimers.takeFirst()
            do throws(StoreError) {
                try firing.add(head.entry, from: rows, to: &output)
            } catch {
                try stage.views.rebuild(head.partition, after: error)
                return false
            }
            if let newer = rows.newerRecord { throw StageFailure.newerRecord(newer.description) }
            guard try fillUpcomingTimers(of: head.partition) else { return false }
            if let next = self.nextTimer(of: head.partition, at: firing.time) { heads.push(next) }
        }
        return true
    }

    /// Returns nil if no timer of the partition may fire yet.
    private func nextTimer(of partition: Int32, at time: Int64) -> NextTimer? {
        guard let part = stage.member.assignedPartitions[partition], let entry = part.upcomingTimers.first,
            entry.dueAt <= time,
            part.orderProgress.mayFire(dueAt: entry.dueAt)
        else { return nil }
        return NextTimer(entry: entry, partition: partition)
    }

    private func commit(_ firing: inout FiringBatch) throws {
        if firing.isEmpty { return firing.removeOutdatedEntries(from: stage.views) }
        stage.reportStep(.firingStarted)
        guard try commitWithoutRecords(of: firing.partitions) else { return }
        firing.removeOutdatedEntries(from: stage.views)
        firingBudget.consume(firing.count)
        let time = stage.clock.dueTime(at: stage.time.now()) ?? firing.time
        for (partition, dueAt, timer) in firing.fired {
            if let timer {
                stage.member.assignedPartitions[partition]?.recentlyFiredTimers.add(timer, at: time)
            }
            metrics.lateness.observe(Double(max(0, time - dueAt)) / 1000)
        }
        metrics.fired.add(firing.fired.count)
        metrics.expired.add(firing.expired)
        stage.reportStep(.firingCommitted)
    }
}
