internal import Containers
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

// A timer fires when three conditions hold: it is due by the cluster's clock, all cancels that came in time are known,
// and the budget allows it. Each transaction writes sends, and deletes the timers that it fires.

extension SchedulerDecider {
    /// The time before a timer is due at which the loop asks for the end of the orders.
    private static let endQueryAheadMilliseconds: Int64 = 250
    /// The pause between two time probes.
    private static let timeProbeIntervalMilliseconds = 1000
    /// The age from which the newest stamp is too old, and the time before a timer is due from which that matters.
    private static let freshStampMilliseconds = 10_000
    /// The pause while the cluster's time is unknown.
    private static let firstStampWaitMilliseconds = 20
    /// The longest wait that is returned. The loop itself never waits for so long.
    private static let waitMillisecondsMax: Int64 = 60_000

    private var servingPartitions: [SchedulesPartition] {
        stage.member.assignedPartitions.values.filter(\.isServing)
    }

    /// The due time of the next timer over all partitions, in milliseconds since 1970.
    private var nextDueTime: Int64? { servingPartitions.compactMap(\.upcomingTimers.first?.dueAt).min() }

    /// Fires the due timers in one transaction, the oldest first over all partitions.
    func performDueWork(at now: Instant) throws -> Wakeup? {
        guard try fillUpcomingTimers() else { return nil }
        guard let nextDueTime else {
            stage.metrics.oldestSeconds.set(0)
            return nil
        }
        let time = stage.clock.dueTime(at: now)
        sendTimeProbeIfNeeded(at: now, time: time, nextDueTime: nextDueTime)
        guard let time else {
            return Wakeup(at: now.advanced(byMilliseconds: Self.firstStampWaitMilliseconds))
        }
        stage.metrics.oldestSeconds.set(Double(max(0, time - nextDueTime)) / 1000)
        takeOrderEnds(at: now)
        try queryOrderEnds(at: now, time: time)
        var firing = FiringBatch(
            time: time, countMax: min(settings.firesMax, firingBudget.available(at: now)))
        let isTimerDue = nextDueTime <= time
        if isTimerDue, firing.countMax > 0 {
            guard try takeDueTimers(into: &firing) else { return nil }
            try commit(&firing)
        }
        // A due timer that cannot fire yet waits for orders or for the budget.
        let isBlocked = isTimerDue && firing.isEmpty
        return nextWakeup(at: now, time: time, waitMillisecondsMin: isBlocked ? 1 : 0)
    }

    private func nextWakeup(at now: Instant, time: Int64, waitMillisecondsMin: Int64) -> Wakeup? {
        guard let nextDueTime else { return nil }
        let wait = min(max(waitMillisecondsMin, nextDueTime - time), Self.waitMillisecondsMax)
        return Wakeup(at: now.advanced(byMilliseconds: Int(wait)))
    }

    // MARK: Upcoming timers

    /// Reads pages until the next timer of each partition is known. Returns false if a view is unusable.
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
            guard try readPage(of: partition, after: part.upcomingTimers.nextPageStart) else { return false }
        }
        return true
    }

    private func readPage(of partition: Int32, after lastRead: DueEntry?) throws -> Bool {
        guard let view = stage.views[partition] else { return false }
        var range = KeyRange(prefix: DueEntry.prefix)
        if let lastRead { range.advance(past: lastRead.storedKey.span) }
        var page: [DueEntry] = []
        let hasMore: Bool
        do throws(StoreError) {
            hasMore = try view.readPage(of: &range, rows: UpcomingTimers.pageRows) { key, _ in
                if let entry = DueEntry(storedKey: key) { page.append(entry) }
            }
        } catch {
            try stage.views.rebuild(partition, after: error)
            return false
        }
        stage.member.assignedPartitions[partition]?.upcomingTimers.add(page: page, isLast: !hasMore)
        let overlay = stage.views.overlays[partition]
        stage.member.assignedPartitions[partition]?.upcomingTimers.retainUnwritten { overlay?[$0] != nil }
        stage.reportStep(.timerPageRead)
        return true
    }

    // MARK: The cluster's time

    /// Writes a time probe to an assigned partition and reads it back there. The cluster's stamp on it is the current
    /// time.
    ///
    /// A probe is needed if a timer is due soon, and no batch has brought a stamp lately or a clock has jumped.
    private func sendTimeProbeIfNeeded(at now: Instant, time: Int64?, nextDueTime: Int64) {
        let isTimerDueSoon = time.map { nextDueTime - $0 < Int64(Self.freshStampMilliseconds) } ?? true
        let isStampTooOld =
            lastStampedAt.map { now.milliseconds(since: $0) >= Self.freshStampMilliseconds } ?? true
        let isProbeNeeded = isTimerDueSoon && (isStampTooOld || isClockDoubtful)
        guard isProbeNeeded, now >= nextTimeProbe,
            let partition = servingPartitions.map(\.partition).min()
        else { return }
        nextTimeProbe = now.advanced(byMilliseconds: Self.timeProbeIntervalMilliseconds)
        var headers = RecordHeaders(capacity: 0)
        let probe = ScheduleRequest.timeProbeBytes
        stage.writer.send(
            to: stage.layout.name(of: .schedules), partition: partition, key: nil, value: probe.span,
            headers: &headers)
        stage.reportStep(.timeProbeSent)
    }

    // MARK: The ends of the orders

    /// Takes the ends of partitions that were asked for. The orders below an end are known when they are processed.
    private func takeOrderEnds(at now: Instant) {
        for (query, result) in stage.writer.takeQueryResults() {
            for answer in awaitedEnds.handle(result, to: query, at: now) {
                let partition = answer.partition.partition
                let position =
                    stage.member.assignedPartitions[partition]?.nextOffset(
                        in: SchedulerInputTopic.schedules.index) ?? 0
                // Without a stamp at the time of the question, the end proves nothing: no timer is due at the time 0.
                let requestedAt = stage.clock.dueTime(at: answer.askedAt) ?? 0
                // Offsets below the partition's beginning are gone, so they count as processed.
                stage.member.assignedPartitions[partition]?.orderProgress.recordEnd(
                    at: answer.ends.high, requestedAt: requestedAt,
                    position: max(position, answer.ends.low))
                stage.reportStep(.endsReceived)
            }
        }
    }

    /// Asks for the end of the orders in partitions with a timer that is nearly due. It fires only when all cancels
    /// that came in time are known.
    private func queryOrderEnds(at now: Instant, time: Int64) throws {
        for part in servingPartitions {
            let topicPartition = stage.topicPartition(of: .schedules, number: part.partition)
            guard let first = part.upcomingTimers.first, first.dueAt <= time + Self.endQueryAheadMilliseconds,
                part.orderProgress.mustRequestEnd(at: time), !awaitedEnds.contains(topicPartition)
            else { continue }
            awaitedEnds.add([topicPartition], at: now)
        }
        try awaitedEnds.submitDueQuery(at: now, with: stage.writer.submit)
    }

    // MARK: One transaction

    /// The next timer of a partition. The earliest of them over all partitions fires first.
    private struct PartitionHead: Comparable {
        let entry: DueEntry
        let partition: Int32

        static func < (a: PartitionHead, b: PartitionHead) -> Bool { a.entry < b.entry }
    }

    /// Takes the due timers into the transaction. Returns false if a view is unusable.
    private func takeDueTimers(into firing: inout FiringBatch) throws -> Bool {
        beginTransaction()
        var heads = MinHeap<PartitionHead>()
        var rowsByPartition: [Int32: CommittedRows] = [:]
        for partition in stage.partitionsOfNextTransaction(from: servingPartitions.map(\.partition).sorted())
        {
            if let head = firableHead(of: partition, at: firing.time) { heads.push(head) }
            rowsByPartition[partition] = committedRows(of: partition)
        }
        while firing.count < firing.countMax, !output.isFull, let head = heads.pop() {
            guard let rows = rowsByPartition[head.partition] else {
                preconditionFailure("a head is of a partition")
            }
            _ = stage.member.assignedPartitions[head.partition]?.upcomingTimers.takeFirst()
            do throws(StoreError) {
                try firing.add(head.entry, from: rows, to: &output)
            } catch {
                try stage.views.rebuild(head.partition, after: error)
                return false
            }
            if let newer = rows.newerRecord { throw StageFailure.newerRecord(newer.description) }
            guard try fillUpcomingTimers(of: head.partition) else { return false }
            if let nextHead = firableHead(of: head.partition, at: firing.time) { heads.push(nextHead) }
        }
        return true
    }

    /// Returns nil if no timer of the partition may fire yet.
    private func firableHead(of partition: Int32, at time: Int64) -> PartitionHead? {
        guard let part = stage.member.assignedPartitions[partition], let entry = part.upcomingTimers.first,
            entry.dueAt <= time,
            part.orderProgress.mayFire(dueAt: entry.dueAt)
        else { return nil }
        return PartitionHead(entry: entry, partition: partition)
    }

    private func commit(_ firing: inout FiringBatch) throws {
        if firing.isEmpty { return firing.removeOutdatedEntries(from: stage.views) }
        stage.reportStep(.firingStarted)
        guard try commitWithoutRecords(of: firing.partitions) else { return }
        firing.removeOutdatedEntries(from: stage.views)
        firingBudget.consume(firing.count)
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
