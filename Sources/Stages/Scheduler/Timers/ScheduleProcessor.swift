internal import Cryptography
internal import Identifiers
internal import Payloads
package import Schedules
package import Sends
package import Store

/// The processor of schedule orders. It decides how an order changes its owner's timers. Its only clock is
/// the stamp on the order's record. So a process that repeats a decision from the committed rows decides the
/// same.
package struct ScheduleProcessor: Sendable {
    /// The most timers of one owner. Beyond it a schedule is refused.
    package static let timersMax = 1000
    /// The maximum size of a timer's key. An entry in due order adds a prefix and must still be a valid key.
    package static let keyBytesMax = EnvironmentLimits.keyBytesMax - DueEntry.prefixByteCount
    /// The maximum lateness of an automatic end. After that time the system has ended the activity itself.
    package static let endLatenessMillisecondsMax: Int64 = 8 * 3_600_000

    /// A decision, besides the changed rows.
    package struct Decision: Sendable, Hashable {
        package enum Outcome: String, Sendable, CaseIterable {
            case scheduled, replaced, repeated, conflict, refused, canceled, listed
        }

        package var outcome: Outcome
        package var answer: ScheduleReply.Outcome
        /// Reports about sends that will not fire.
        package var progress: [ProgressRecord] = []
    }

    package init() {}

    /// - Parameters:
    ///   - stamp: The cluster's stamp on the record, in milliseconds since 1970.
    ///   - offset: The offset of the record.
    package func decide(
        _ order: ScheduleCommand, stamp: Int64, offset: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        switch order.action {
        case .schedule(let schedule):
            return try decide(schedule, of: order, stamp: stamp, offset: offset, in: &table)
        case .cancel(let choice): return try cancel(choice, of: order, stamp: stamp, in: &table)
        case .list(let countMax):
            let timers = try table.timers(of: order.owner, app: order.app).compactMap(\.listing)
                .sorted { ($0.dueAt, $0.id) < ($1.dueAt, $1.id) }
            let listed = Array(timers.prefix(countMax))
            return Decision(
                outcome: .listed, answer: .listed(listed, isComplete: listed.count == timers.count))
        }
    }

    private func decide(
        _ schedule: Schedule, of order: ScheduleCommand, stamp: Int64, offset: Int64,
        in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        let seenKey = schedule.idempotency.map {
            ScheduleIdempotencyRow.key(app: order.app, owner: order.owner, idempotencyKey: $0.key)
        }
        if let seenKey, seenKey.count <= Self.keyBytesMax, let idempotency = schedule.idempotency {
            let seen = try table.seenOrder(for: seenKey)
            switch Idempotency.compare(fingerprint: idempotency.fingerprint, with: seen, at: stamp) {
            case .isNew: break
            case .repeats(let first):
                return Decision(outcome: .repeated, answer: .scheduled(first.scheduledTimer))
            case .conflicts: return Decision(outcome: .conflict, answer: .conflict)
            }
        }
        var send = schedule.send
        send.scheduledAt = stamp
        let row = TimerRow(
            app: order.app, owner: order.owner, id: schedule.id, name: schedule.name,
            activity: schedule.activity, dueAt: schedule.dueAt(recordTimestamp: stamp),
            latenessMillisecondsMax: schedule.latenessMillisecondsMax, send: send, commandOffset: offset)
        if let bytes = [row.key.count, seenKey?.count ?? 0].first(where: { $0 > Self.keyBytesMax }) {
            return .refused(
                reason: "app, owner and id make a key of \(bytes) bytes, and the limit is \(Self.keyBytesMax)"
            )
        }
        let timers = try table.timers(of: order.owner, app: order.app)
        let older = timers.first { $0.id.isExactlyEqual(to: schedule.id) }
        if older == nil, timers.count >= Self.timersMax {
            return .refused(
                reason: "\(timers.count) timers wait for \(order.owner.text), which is the limit; cancel some"
            )
        }
        table.set(row)
        let answer = ScheduleReply.ScheduledTimer(
            id: schedule.id, dueAt: row.dueAt, send: send.id, isReplacement: older != nil)
        if let seenKey, let idempotency = schedule.idempotency {
            let seen = ScheduleIdempotencyRow(
                fingerprint: idempotency.fingerprint, scheduledTimer: answer, writtenAt: stamp)
            table.set(seen, key: seenKey)
        }
        let outdated = older.flatMap { $0.send.id.isExactlyEqual(to: send.id) ? nil : $0 }
        return Decision(
            outcome: older == nil ? .scheduled : .replaced, answer: .scheduled(answer),
            progress: outdated.map { row in [row.progress(.superseded, at: stamp)] } ?? [])
    }

    private func cancel(
        _ choice: ScheduleCommand.TimerSelection, of order: ScheduleCommand, stamp: Int64,
        in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        let selected = try table.timers(of: order.owner, app: order.app).filter { row in
            guard let id = row.id else { return choice == .everything }
            return choice.selects(id: id, activity: row.activity, send: row.send.id)
        }
        for row in selected { table.remove(row) }
        let tooLate = table.recentlyFiredCount(matching: choice, of: order.owner, app: order.app, at: stamp)
        return Decision(
            outcome: .canceled, answer: .cancelled(selected.count, tooLate: tooLate),
            progress: selected.map { $0.progress(.cancelled, at: stamp) })
    }

    /// Decides the end that the planner asks for. A group of an owner has one such timer, for its newest
    /// generation.
    ///
    /// - Returns: Nil if the end of a newer generation waits, or if the key is too long.
    package func decide(
        _ end: AutomaticEnd, stamp: Int64, offset: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision.Outcome? {
        let row = end.timer(stamp: stamp, offset: offset)
        if row.key.count > Self.keyBytesMax { return nil }
        let older = try table.timers(of: row.owner, app: row.app).first { $0.id == nil && $0.key == row.key }
        if let generation = older?.send.generation, generation > end.generation { return nil }
        table.set(row)
        return older == nil ? .scheduled : .replaced
    }
}

extension ScheduleProcessor.Decision {
    fileprivate static func refused(reason why: String) -> Self {
        ScheduleProcessor.Decision(outcome: .refused, answer: .refused(why))
    }
}

extension AutomaticEnd {
    private static let digestBytes = 12

    fileprivate func timer(stamp: Int64, offset: Int64) -> TimerRow {
        let key = ScopeKey(app: app, group: group, recipient: owner)
        // The id is the same for each record that asks for this end, because each generation of a group has
        // one end.
        let digest = Hex.text(of: Array(SHA256.digest(of: key.bytes).prefix(Self.digestBytes)))
        var send = Send(
            id: "end-\(generation)-\(digest)", app: app, group: group, audience: .group,
            content: PushContent(.end), priority: .automaticEnd, acceptedAt: stamp)
        send.owner = owner
        send.generation = generation
        send.scheduledAt = stamp
        // Without this deadline, the group's end date would be the deadline, and that is now.
        send.deadline = endsAt + ScheduleProcessor.endLatenessMillisecondsMax / 1000
        return TimerRow(
            app: app, owner: timerOwner, id: nil, dueAt: endsAt * 1000,
            latenessMillisecondsMax: ScheduleProcessor.endLatenessMillisecondsMax,
            send: send, commandOffset: offset)
    }
}

extension TimerRow {
    /// Nil for the automatic end of a group, which has no schedule id.
    fileprivate var listing: ScheduleReply.ListedTimer? {
        id.map {
            ScheduleReply.ListedTimer(
                id: $0, name: name, activity: activity, dueAt: dueAt, send: send.id, event: send.content.event
            )
        }
    }

    /// Returns the report about a send that will not fire.
    ///
    /// - Parameter time: Milliseconds since 1970.
    package func progress(_ verdict: ProgressRecord.PlannerVerdict, at time: Int64) -> ProgressRecord {
        guard let key = send.scopeKey else { preconditionFailure("a send without a key was decoded") }
        return ProgressRecord(
            send: send.id, key: key, isDryRun: send.isDryRun, acceptedAt: send.acceptedAt, writtenAt: time,
            part: .planner(ProgressRecord.PlannerPart(verdict)))
    }

    package enum DueOutcome: Sendable, Hashable {
        case fires(Send)
        /// The timer is later than its maximum lateness.
        case expires
    }

    /// Returns the fate of a due timer at a time.
    package func outcome(at time: Int64) -> DueOutcome {
        if time - dueAt > latenessMillisecondsMax { return .expires }
        var send = send
        // The send counts as accepted at its due time. An installation that changes its recipient later was
        // already reached under the previous recipient, and this send does not reach it again.
        send.acceptedAt = dueAt
        return .fires(send)
    }
}
