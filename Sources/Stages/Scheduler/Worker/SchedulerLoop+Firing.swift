internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

extension SchedulerLoop {
    /// The time before a timer is due at which the loop asks for the end of the orders.
    private static let aheadMilliseconds: Int64 = 250
    /// The pause between two questions for the time.
    private static let betweenQuestionsMilliseconds = 1000

    /// Fires the due timers in one transaction, the oldest first over all partitions.
    func fire(_ now: Instant) throws {
        guard try fillWindows() else { return }
        guard let next = member.owned.values.filter(\.isServing).compactMap(\.window.first?.at).min() else {
            return metrics.oldestSeconds.set(0)
        }
        askTheTime(now, next: next)
        guard let time = clock.time(at: now) else {
            firesIn = Self.troubleMilliseconds
            return
        }
        metrics.oldestSeconds.set(Double(max(0, time - next)) / 1000)
        try askForEnds(at: time)
        let budget = budget.available(at: now)
        var firing = FiredTimers(time: time, countMax: min(settings.firesMax, budget))
        if next <= time, firing.countMax > 0 {
            guard try take(into: &firing) else { return }
            try commit(&firing)
        }
        let rest = member.owned.values.filter(\.isServing).compactMap(\.window.first?.at).min()
        let wait = rest.map { $0 - time } ?? Int64(Self.idleMilliseconds)
        // A due timer that cannot fire yet waits for orders or for the budget.
        let least = firing.isEmpty && next <= time ? 1 : 0
        firesIn = Int32(min(Int64(Self.idleMilliseconds), max(Int64(least), wait)))
    }

    /// Returns false if a view is unusable.
    private func fillWindows() throws -> Bool {
        for partition in member.owned.keys.sorted() {
            guard try fillWindow(partition) else { return false }
        }
        return true
    }

    private func fillWindow(_ partition: Int32) throws -> Bool {
        while let part = member.owned[partition], part.isServing, part.window.needsPage {
            guard try fill(partition, from: part.window.pageBegin) else { return false }
        }
        return true
    }

    private func fill(_ partition: Int32, from begin: DueEntry?) throws -> Bool {
        guard let view = views[partition] else { return false }
        var range = KeyRange(prefix: DueEntry.prefix)
        if let begin { range.advance(behind: begin.stored.span) }
        var page: [DueEntry] = []
        let isMore: Bool
        do throws(StoreError) {
            isMore = try view.page(&range, rows: DueWindow.pageRows) { key, _ in
                if let entry = DueEntry(stored: key) { page.append(entry) }
            }
        } catch {
            try views.rebuild(partition, error)
            return false
        }
        member.owned[partition]?.window.take(page: page, isLast: !isMore)
        let overlay = views.overlays[partition]
        member.owned[partition]?.window.settle { overlay?[$0] != nil }
        onStep(.pageRead)
        return true
    }

    /// Writes a question to an assigned partition and reads it back there. The cluster's timestamp on it is
    /// the current time.
    private func askTheTime(_ now: Instant, next: Int64) {
        let isSoon = clock.time(at: now).map { next - $0 < Int64(FiringClock.freshMilliseconds) } ?? true
        guard isSoon, clock.isStale(at: now) || clock.isHeld(at: now), now >= nextQuestion,
            let partition = member.owned.values.filter(\.isServing).map(\.partition).min()
        else { return }
        nextQuestion = now.advanced(byMilliseconds: Self.betweenQuestionsMilliseconds)
        var headers = RecordHeaders(capacity: 0)
        let bytes = ScheduleRequest.questionBytes
        writer.send(
            to: layout.name(.schedules), partition: partition, key: nil, value: bytes.span,
            headers: &headers)
        onStep(.timeAsked)
    }

    /// Asks for the end of the orders in partitions that have a timer due. A timer fires only when all
    /// cancels that arrived in time are known.
    private func askForEnds(at time: Int64) throws {
        hearEnds()
        var places: [Kafka.TopicPartition] = []
        for (partition, part) in member.owned where part.isServing && endsAsked[partition] == nil {
            guard let first = part.window.first, first.at <= time + Self.aheadMilliseconds,
                part.heard.mustAsk(at: time)
            else { continue }
            places.append(topicPartition(partition, of: .schedules))
        }
        if places.isEmpty { return }
        let question = try writer.ask(.ends(places))
        for place in places { endsAsked[place.partition] = (question, time) }
    }

    /// Takes the answers. A partition whose question failed is asked again.
    private func hearEnds() {
        for (question, answer) in writer.takeAnswers() {
            switch answer {
            case .ends(let ends):
                for (place, ends) in ends {
                    guard let asked = endsAsked[place.partition], asked.question == question else { continue }
                    endsAsked[place.partition] = nil
                    let position = member.owned[place.partition]?.positions[.schedules]?.committed ?? 0
                    member.owned[place.partition]?.heard.ends(
                        at: ends.high, asked: asked.time, position: max(position, ends.low))
                    onStep(.endsAsked)
                }
            case .failed(let places, _):
                for place in places where endsAsked[place.partition]?.question == question {
                    endsAsked[place.partition] = nil
                }
            case .committed, .records: break
            }
        }
    }

    // MARK: One transaction

    /// The next entry of a partition.
    private struct Head: Comparable {
        let entry: DueEntry
        let partition: Int32

        static func < (a: Head, b: Head) -> Bool { a.entry < b.entry }
    }

    /// Takes the due timers into the transaction. Returns false if a view is unusable.
    private func take(into firing: inout FiredTimers) throws -> Bool {
        output.removeAll()
        var heads = MinHeap<Head>()
        var rows: [Int32: CommittedRows] = [:]
        for partition in member.owned.values.filter(\.isServing).map(\.partition) {
            if let head = head(of: partition, at: firing.time) { heads.push(head) }
            rows[partition] = committedRows(of: partition)
        }
        while firing.count < firing.countMax, !output.isFull, let head = heads.pop() {
            guard let rows = rows[head.partition] else { preconditionFailure("a head is of a partition") }
            _ = member.owned[head.partition]?.window.takeFirst()
            do throws(StoreError) {
                try firing.take(head.entry, from: rows, into: &output)
            } catch {
                try views.rebuild(head.partition, error)
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
        guard let part = member.owned[partition], let entry = part.window.first, entry.at <= time,
            part.heard.mayFire(dueAt: entry.at)
        else { return nil }
        return Head(entry: entry, partition: partition)
    }

    private func commit(_ firing: inout FiredTimers) throws {
        if firing.isEmpty {
            firing.dropOutdated(in: views)
            return
        }
        onStep(.firing)
        guard let group = consumer.captureGroup(forEpoch: consumer.epoch) else {
            return member.giveUp("the partitions were reassigned", "")
        }
        var work = ScheduledWork()
        for partition in firing.partitions {
            for (topic, position) in member.owned[partition]?.positions ?? [:] {
                guard let offset = position.committed else { continue }
                work.offsets.append(OffsetToCommit(topicPartition(partition, of: topic), offset: offset))
            }
        }
        guard try commit(work, group) else { return }
        firing.dropOutdated(in: views)
        budget.use(firing.count)
        let time = clock.time(at: .now()) ?? firing.time
        for (partition, dueAt, timer) in firing.fired {
            if let timer { member.owned[partition]?.lately.add(timer, at: time) }
            metrics.lateness.observe(Double(max(0, time - dueAt)) / 1000)
        }
        metrics.fired.add(firing.fired.count)
        metrics.expired.add(firing.expired)
        onStep(.fired)
    }
}
