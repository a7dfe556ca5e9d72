internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

extension PlannerLoop {
    /// The most held sends that one transaction releases.
    private static let releasesMax = 2000

    /// Plans the held sends that are due.
    func releaseHeld(_ now: Instant) throws {
        if held.count == 0 { return }
        var times: [Int32: Int64] = [:]
        for own in member.owned.values where own.isServing {
            times[own.partition] = clock.decisionTime(at: now).map { $0 / 1000 }
        }
        let due = held.take(Self.releasesMax, at: times)
        if due.isEmpty { return }
        output.removeAll()
        var work = PlannedWork()
        guard let tables = try plan(due, at: times, &work) else { return remind(due) }
        for table in tables { table.write(to: &output) }
        if output.isEmpty { return }
        onStep(.held)
        guard try commitAlone(&work, of: tables.map(\.partition)) else { return remind(due) }
        onStep(.released)
    }

    /// Adds the reminders again. If the scope holds no send any more, a reminder changes nothing.
    private func remind(_ reminders: [HeldSends.Reminder]) {
        for reminder in reminders { held.add(reminder.key, in: reminder.partition, at: 0) }
    }

    /// Returns nil if a view is unusable.
    private func plan(
        _ due: [HeldSends.Reminder], at times: [Int32: Int64], _ work: inout PlannedWork
    ) throws -> [PartitionTable]? {
        var tables: [Int32: PartitionTable] = [:]
        for reminder in due {
            // A reminder that does not fit into this transaction waits for the next one.
            guard !output.isFull, let time = times[reminder.partition] else {
                remind([reminder])
                continue
            }
            var table = tables[reminder.partition] ?? makeTable(reminder.partition)
            tables[reminder.partition] = table
            do throws(StoreError) {
                take(
                    try planner.release(reminder.key, now: time, in: &table), of: reminder.partition,
                    into: &work)
            } catch {
                try views.rebuild(reminder.partition, error)
                return nil
            }
            if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
        }
        return Array(tables.values)
    }

    /// Commits a transaction without new sends. It commits the unchanged offsets, to prove that the
    /// partitions are still assigned to this process.
    func commitAlone(_ work: inout PlannedWork, of numbers: some Sequence<Int32>) throws -> Bool {
        guard let group = consumer.captureGroup(forEpoch: consumer.epoch) else { return false }
        for partition in numbers {
            for (topic, position) in member.owned[partition]?.positions ?? [:] {
                guard let offset = position.committed else { continue }
                work.offsets.append(OffsetToCommit(topicPartition(partition, of: topic), offset: offset))
            }
        }
        return try commit(work, group)
    }
}
