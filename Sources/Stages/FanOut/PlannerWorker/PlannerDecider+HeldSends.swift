internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry

extension PlannerDecider {
    /// The most held sends that one transaction releases.
    private static let releasesMax = 2000

    /// Plans the held sends that are due.
    func releaseHeldSends(at now: Instant) throws {
        guard heldSendReminders.count > 0,
            let seconds = stage.clock.decisionTime(at: now).map({ $0 / 1000 })
        else { return }
        let serving = servingPartitions.map(\.partition).sorted()
        let due = heldSendReminders.takeDue(
            countMax: Self.releasesMax, of: Set(stage.partitionsOfNextTransaction(from: serving)), at: seconds
        )
        if due.isEmpty { return }
        beginTransaction()
        guard try planRelease(of: due, at: seconds) else { return addAgain(due) }
        addChangedRows()
        if output.isEmpty { return }
        stage.reportStep(.heldSendsPlanned)
        guard try commitOutput(of: tables.keys.sorted()) else { return addAgain(due) }
        stage.reportStep(.heldSendsReleased)
    }

    /// Adds the reminders again. If the scope holds no send any more, a reminder changes nothing.
    private func addAgain(_ reminders: [HeldSendReminders.Reminder]) {
        for reminder in reminders { heldSendReminders.add(reminder.key, in: reminder.partition, at: 0) }
    }

    /// Returns false if a view is unusable.
    private func planRelease(of due: [HeldSendReminders.Reminder], at now: Int64) throws -> Bool {
        for reminder in due {
            // A reminder that does not fit into this transaction waits for the next one.
            guard !output.isFull, !areRowsFull else {
                addAgain([reminder])
                continue
            }
            var table = table(of: reminder.partition)
            do throws(StoreError) {
                add(try planner.release(reminder.key, now: now, in: &table), from: reminder.partition)
            } catch {
                try stage.views.rebuild(reminder.partition, after: error)
                return false
            }
            if let newer = table.newerRecord { throw StageFailure.newerRecord(newer.description) }
        }
        return true
    }
}
