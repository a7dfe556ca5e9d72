internal import Containers
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry

// The transaction that fires due timers: it writes their sends, and deletes the timers. A timer fires when three
// conditions hold: it is due by the cluster's clock, all cancels that came in time are known
// (`SchedulerDecider+CommandEnds.swift`), and the budget allows it.

extension SchedulerDecider {
    /// The pause while the cluster's time is unknown.
    private static let firstStampWaitMilliseconds = 20
    /// The pause before a due timer that is blocked is tried again. The budget grows with each millisecond.
    private static let blockedWaitMilliseconds: Int64 = 1
    /// The longest wait that is returned, so that a due time in the far future does not overflow the sum.
    private static let waitMillisecondsMax: Int64 = 60_000

    /// The due time of the next timer over all partitions, in milliseconds since 1970.
    private var nextDueAt: Int64? { servingPartitions.compactMap(\.upcomingTimers.first?.dueAt).min() }

    /// Fires the due timers in one transaction, the oldest first over all partitions. Returns the time of the next
    /// call; nil if no timer waits, or if a view is unusable and the loop starts over.
    func performDueWork(at now: Instant) throws -> Wakeup? {
        guard try fillUpcomingTimers() else { return nil }
        guard let firstDueAt = nextDueAt else {
            stage.metrics.oldestSeconds.set(0)
            return nil
        }
        let time = stage.clock.dueTime(at: now)
        sendTimeProbeIfNeeded(at: now, time: time, nextDueAt: firstDueAt)
        guard let time else {
            return Wakeup(at: now.advanced(byMilliseconds: Self.firstStampWaitMilliseconds))
        }
        stage.metrics.oldestSeconds.set(Double(max(0, time - firstDueAt)) / 1000)
        takeCommandEnds(at: now)
        try queryCommandEnds(at: now, time: time)
        var firing = FiringBatch(
            time: time, rowCountMax: min(settings.firesMax, firingBudget.available(at: now)))
        let isTimerDue = firstDueAt <= time
        if isTimerDue, firing.rowCountMax > 0 {
            guard try takeDueTimers(into: &firing) else { return nil }
            try commit(&firing)
        }
        // A due timer that cannot fire yet waits for commands or for the budget.
        let isBlocked = isTimerDue && firing.isEmpty
        return nextWakeup(
            at: now, time: time, waitingAtLeastMilliseconds: isBlocked ? Self.blockedWaitMilliseconds : 0)
    }

    /// Returns the time at which the next timer is due, after the timers of this call have fired.
    private func nextWakeup(
        at now: Instant, time: Int64, waitingAtLeastMilliseconds waitMin: Int64
    ) -> Wakeup? {
        guard let nextDueAt else { return nil }
        let wait = min(max(waitMin, nextDueAt - time), Self.waitMillisecondsMax)
        return Wakeup(at: now.advanced(byMilliseconds: Int(wait)))
    }

    // MARK: One transaction

    /// The next timer of a partition. The earliest head of all partitions fires first.
    private struct PartitionHead: Comparable {
        let entry: DueEntry
        let partition: Int32

        static func < (a: PartitionHead, b: PartitionHead) -> Bool { a.entry < b.entry }
    }

    /// Moves the due timers from memory to the transaction. Returns false if a view is unusable. Then, or if the
    /// transaction is not committed, the loop starts over and reads the timers again, so none is lost.
    private func takeDueTimers(into firing: inout FiringBatch) throws -> Bool {
        beginTransaction()
        var heads = MinHeap<PartitionHead>()
        var rowsByPartition: [Int32: CommittedRows] = [:]
        for partition in stage.partitionsOfNextTransaction(from: servingPartitions.map(\.partition).sorted())
        {
            if let head = firableHead(of: partition, at: firing.time) { heads.push(head) }
            rowsByPartition[partition] = committedRows(of: partition)
        }
        while firing.rowCount < firing.rowCountMax, !output.isFull, let head = heads.pop() {
            guard let rows = rowsByPartition[head.partition] else {
                preconditionFailure("the partition of a due timer has no rows")
            }
            _ = stage.member.assignedPartitions[head.partition]?.upcomingTimers.takeFirst()
            do throws(StoreError) {
                try firing.add(head.entry, from: rows, to: &output)
            } catch {
                try stage.views.rebuild(head.partition, after: error)
                return false
            }
            // A newer version of Flotilla has written the row, so this one cannot decide about it.
            if let newer = rows.newerRecord { throw StageFailure.newerRecord(newer.description) }
            guard try fillUpcomingTimers(of: head.partition) else { return false }
            if let nextHead = firableHead(of: head.partition, at: firing.time) { heads.push(nextHead) }
        }
        return true
    }

    /// Returns the next timer of the partition, or nil if it may not fire yet.
    private func firableHead(of partition: Int32, at time: Int64) -> PartitionHead? {
        guard let part = stage.member.assignedPartitions[partition], let entry = part.upcomingTimers.first,
            entry.dueAt <= time,
            part.commandProgress.mayFire(dueAt: entry.dueAt)
        else { return nil }
        return PartitionHead(entry: entry, partition: partition)
    }

    /// Commits the transaction, and notes the timers that it has fired. If it is not committed, the loop starts over.
    private func commit(_ firing: inout FiringBatch) throws {
        // No row is due, but entries without a matching row may remain.
        if firing.isEmpty {
            firing.removeOutdatedEntries(from: stage.views)
            return
        }
        stage.reportStep(.firingStarted)
        guard try commitOutput(of: firing.partitions) else { return }
        firing.removeOutdatedEntries(from: stage.views)
        firingBudget.consume(firing.rowCount)
        // The lateness includes the commit, which may have taken a while.
        let time = stage.clock.dueTime(at: stage.time.now()) ?? firing.time
        for (partition, dueAt, timer) in firing.fired {
            if let timer {
                stage.member.assignedPartitions[partition]?.recentlyFiredTimers.add(timer, at: time)
            }
            metrics.latenessSeconds.observe(Double(max(0, time - dueAt)) / 1000)
        }
        metrics.firedTimers.add(firing.fired.count)
        metrics.expiredTimers.add(firing.expiredCount)
        stage.reportStep(.firingCommitted)
    }
}
