internal import Containers
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

extension SchedulerDecider {
    /// The time before a timer is due at which the loop asks for the end of the orders.
    private static let aheadMilliseconds: Int64 = 250
    /// The pause between two questions for the time.
    private static let betweenQuestionsMilliseconds = 1000

    /// The age at which the newest stamp is stale and the scheduler asks for the time.
    private static let freshMilliseconds = 10_000
    /// The wait for the first stamp of the cluster.
    private static let troubleMilliseconds = 20
    /// A longer wait is not needed, because the loop does not wait for as long.
    private static let waitMillisecondsMax: Int64 = 60_000

    private var serving: [SchedulesPartition] { stage.member.owned.values.filter(\.isServing) }
    private var nextDue: Int64? { serving.compactMap(\.upcoming.first?.dueAt).min() }

    /// Fires the due timers in one transaction, the oldest first over all partitions.
    func work(at now: Instant) throws -> Wake? {
        guard try fillWindows() else { return nil }
        guard let next = nextDue else {
            stage.metrics.oldestSeconds.set(0)
            return nil
        }
        let time = stage.clock.dueTime(at: now)
        askTheTime(now, time: time, next: next)
        guard let time else { return Wake(at: now.advanced(byMilliseconds: Self.troubleMilliseconds)) }
        stage.metrics.oldestSeconds.set(Double(max(0, time - next)) / 1000)
        try askForEnds(at: now, time: time)
        let budget = budget.available(at: now)
        var firing = FiringBatch(time: time, countMax: min(settings.firesMax, budget))
        if next <= time, firing.countMax > 0 {
            guard try take(into: &firing) else { return nil }
            try commit(&firing)
        }
        // A due timer that cannot fire yet waits for orders or for the budget.
        let least: Int64 = firing.isEmpty && next <= time ? 1 : 0
        let wait = nextDue.map { min(max(least, $0 - time), Self.waitMillisecondsMax) }
        return wait.map { Wake(at: now.advanced(byMilliseconds: Int($0))) }
    }

    /// Returns false if a view is unusable.
    private func fillWindows() throws -> Bool {
        for partition in stage.member.owned.keys.sorted() {
            guard try fillWindow(partition) else { return false }
        }
        return true
    }

    private func fillWindow(_ partition: Int32) throws -> Bool {
        while let part = stage.member.owned[partition], part.isServing, part.upcoming.needsPage {
            guard try fill(partition, from: part.upcoming.nextPageStart) else { return false }
        }
        return true
    }

    private func fill(_ partition: Int32, from begin: DueEntry?) throws -> Bool {
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
        stage.member.owned[partition]?.upcoming.add(page: page, isLast: !isMore)
        let overlay = stage.views.overlays[partition]
        stage.member.owned[partition]?.upcoming.retainUnwritten { overlay?[$0] != nil }
        stage.reached(.pageRead)
        return true
    }

    /// Writes a question to an assigned partition and reads it back there. The cluster's timestamp on it is
    /// the current time.
    private func askTheTime(_ now: Instant, time: Int64?, next: Int64) {
        let isSoon = time.map { next - $0 < Int64(Self.freshMilliseconds) } ?? true
        let isStale = stampedAt.map { now.milliseconds(since: $0) >= Self.freshMilliseconds } ?? true
        guard isSoon, isStale || doubtsClock, now >= nextQuestion,
            let partition = serving.map(\.partition).min()
        else { return }
        nextQuestion = now.advanced(byMilliseconds: Self.betweenQuestionsMilliseconds)
        var headers = RecordHeaders(capacity: 0)
        let bytes = ScheduleRequest.timeProbeBytes
        stage.writer.send(
            to: stage.layout.name(of: .schedules), partition: partition, key: nil, value: bytes.span,
            headers: &headers)
        stage.reached(.timeRequested)
    }

    /// Asks for the end of the orders in partitions that have a timer due. A timer fires only when all
    /// cancels that arrived in time are known.
    private func askForEnds(at now: Instant, time: Int64) throws {
        for (question, answer) in stage.writer.takeAnswers() {
            for found in ends.take(answer, to: question, at: now) {
                let partition = found.partition.partition
                let position =
                    stage.member.owned[partition]?.next(in: SchedulerInputTopic.schedules.index) ?? 0
                stage.member.owned[partition]?.orderProgress.recordEnd(
                    at: found.ends.high, requestedAt: stage.clock.dueTime(at: found.askedAt) ?? 0,
                    position: max(position, found.ends.low))
                stage.reached(.endsReceived)
            }
        }
        for part in serving {
            let place = stage.place(.schedules, part.partition)
            guard let first = part.upcoming.first, first.dueAt <= time + Self.aheadMilliseconds,
                part.orderProgress.mustRequestEnd(at: time), !ends.contains(place)
            else { continue }
            ends.want([place], at: now)
        }
        try ends.ask(at: now, stage.writer.ask)
    }

    // MARK: One transaction

    /// The next entry of a partition.
    private struct Head: Comparable {
        let entry: DueEntry
        let partition: Int32

        static func < (a: Head, b: Head) -> Bool { a.entry < b.entry }
    }

    /// Takes the due timers into the transaction. Returns false if a view is unusable.
    private func take(into firing: inout FiringBatch) throws -> Bool {
        beginTransaction()
        var heads = MinHeap<Head>()
        var rows: [Int32: CommittedRows] = [:]
        for partition in stage.member.owned.values.filter(\.isServing).map(\.partition) {
            if let head = head(of: partition, at: firing.time) { heads.push(head) }
            rows[partition] = committedRows(of: partition)
        }
        while firing.count < firing.countMax, !output.isFull, let head = heads.pop() {
            guard let rows = rows[head.partition] else { preconditionFailure("a head is of a partition") }
            _ = stage.member.owned[head.partition]?.upcoming.takeFirst()
            do throws(StoreError) {
                try firing.add(head.entry, from: rows, to: &output)
            } catch {
                try stage.views.rebuild(head.partition, after: error)
                return false
            }
            if let newer = rows.newerRecord { throw StageFailure.newerRecord(newer.description) }
            guard try fillWindow(head.partition) else { return false }
            if let next = self.head(of: head.partition, at: firing.time) { heads.push(next) }
        }
        return true
    }

    /// Returns nil if no timer of the partition may fire yet.
    private func head(of partition: Int32, at time: Int64) -> Head? {
        guard let part = stage.member.owned[partition], let entry = part.upcoming.first, entry.dueAt <= time,
            part.orderProgress.mayFire(dueAt: entry.dueAt)
        else { return nil }
        return Head(entry: entry, partition: partition)
    }

    private func commit(_ firing: inout FiringBatch) throws {
        if firing.isEmpty { return firing.removeOutdatedEntries(from: stage.views) }
        stage.reached(.firing)
        guard try commitAlone(of: firing.partitions) else { return }
        firing.removeOutdatedEntries(from: stage.views)
        budget.consume(firing.count)
        let time = stage.clock.dueTime(at: stage.time.now()) ?? firing.time
        for (partition, dueAt, timer) in firing.fired {
            if let timer { stage.member.owned[partition]?.recentlyFired.add(timer, at: time) }
            metrics.lateness.observe(Double(max(0, time - dueAt)) / 1000)
        }
        metrics.fired.add(firing.fired.count)
        metrics.expired.add(firing.expired)
        stage.reached(.fired)
    }
}
