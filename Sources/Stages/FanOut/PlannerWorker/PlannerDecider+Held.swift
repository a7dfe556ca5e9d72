internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

extension PlannerDecider {
    /// The most held sends that one transaction releases.
    private static let releasesMax = 2000

    /// Plans the held sends that are due.
    func releaseHeld(_ now: Instant) throws {
        if held.count == 0 { return }
        var times: [Int32: Int64] = [:]
        for part in serving {
            times[part.partition] = stage.clock.decisionTime(at: now).map { $0 / 1000 }
        }
        let due = held.takeDue(countMax: Self.releasesMax, at: times)
        if due.isEmpty { return }
        beginTransaction()
        guard try plan(due, at: times) else { return remind(due) }
        finishTransaction()
        if output.isEmpty { return }
        stage.reached(.held)
        guard try commitAlone(of: tables.keys.sorted()) else { return remind(due) }
        stage.reached(.released)
    }

    /// Adds the reminders again. If the scope holds no send any more, a reminder changes nothing.
    private func remind(_ reminders: [HeldSends.Reminder]) {
        for reminder in reminders { held.add(reminder.key, in: reminder.partition, at: 0) }
    }

    /// Returns false if a view is unusable.
    private func plan(_ due: [HeldSends.Reminder], at times: [Int32: Int64]) throws -> Bool {
        for reminder in due {
            // A reminder that does not fit into this transaction waits for the next one.
            guard !output.isFull, let time = times[reminder.partition] else {
                remind([reminder])
                continue
            }
            var table = table(of: reminder.partition)
            do throws(StoreError) {
                take(try planner.release(reminder.key, now: time, in: &table), of: reminder.partition)
            } catch {
                try stage.views.rebuild(reminder.partition, after: error)
                return false
            }
            if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
        }
        return true
    }
}
