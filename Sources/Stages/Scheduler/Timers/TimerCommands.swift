internal import Cryptography
internal import Identifiers
internal import Payloads
package import Schedules
package import Sends
package import Store

/// The rules by which commands change the timers of their owner: schedule, cancel and list, and the automatic ends of
/// groups.
///
/// The only clock is the cluster's stamp on the command's record. So a process that repeats a decision from the
/// committed rows decides the same.
package struct TimerCommands: Sendable {
    /// The most timers of one owner. Beyond it a schedule is refused.
    package static let timersMax = 1000
    /// The maximum size of a timer's key. Its `DueEntry` has a longer key, with a prefix, which must be valid
    /// too.
    package static let keyBytesMax = EnvironmentLimits.keyBytesMax - DueEntry.prefixByteCount
    /// The maximum lateness of an automatic end. After that time iOS has ended the activity itself.
    package static let endLatenessMillisecondsMax: Int64 = 8 * 3_600_000

    /// The decision about a command. Its changes of rows are in the `TimerTable`.
    package struct Decision: Sendable, Hashable {
        /// The result for metrics.
        package enum Outcome: String, Sendable, CaseIterable {
            case scheduled, replaced, repeated, conflict, refused
            case cancelled = "canceled"
            case erased
            case listed
        }

        package var outcome: Outcome
        package var answer: GatewayReply.Outcome
        /// Reports about sends that will not fire.
        package var progress: [ProgressRecord] = []
    }

    /// The decision about an automatic end. Its change of a row is in the `TimerTable`.
    package enum EndDecision: Sendable, Hashable {
        /// The timer is set: `scheduled` or `replaced`.
        case set(Decision.Outcome)
        /// Nothing changes, because the timer of a newer generation waits.
        case outdated
        /// Nothing changes, because the key is too long for a timer. The planner writes no such end.
        case keyTooLong(byteCount: Int)
    }

    package init() {}

    /// Decides a command, and changes the rows of its owner.
    ///
    /// - Parameters:
    ///   - stamp: the cluster's stamp on the record, in milliseconds since 1970.
    ///   - offset: the offset of the record.
    package func decide(
        _ command: ScheduleCommand, stamp: Int64, offset: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        switch command.action {
        case .schedule(let schedule):
            return try setTimer(for: schedule, of: command, stamp: stamp, offset: offset, in: &table)
        case .cancel(let selection): return try cancel(selection, of: command, stamp: stamp, in: &table)
        case .erase: return try erase(command, stamp: stamp, in: &table)
        case .list(let countMax, let position):
            return try list(command, countMax: countMax, after: position, in: &table)
        }
    }

    // MARK: Schedule

    /// Sets the timer of a schedule, unless it repeats an earlier schedule or is refused.
    private func setTimer(
        for schedule: Schedule, of command: ScheduleCommand, stamp: Int64, offset: Int64,
        in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        let idempotencyKey = schedule.idempotency.map {
            ScheduleIdempotencyRow.key(app: command.app, owner: command.owner, idempotencyKey: $0.key)
        }
        if let idempotencyKey,
            let repetition = try repetition(of: schedule, key: idempotencyKey, stamp: stamp, in: &table)
        {
            return repetition
        }
        let row = makeTimer(for: schedule, of: command, stamp: stamp, offset: offset)
        if let refusal = refusalOfLongKey(row.key, idempotencyKey: idempotencyKey) { return refusal }
        let timers = try table.timers(of: command.owner, app: command.app)
        let older = timers.first { $0.id.isExactlyEqual(to: schedule.id) }
        if older == nil, timers.count >= Self.timersMax {
            return .refused(
                reason:
                    "\(timers.count) timers wait for \(command.owner.text), which is the limit; cancel some"
            )
        }
        table.set(row)
        let answer = GatewayReply.ScheduledTimer(
            id: schedule.id, dueAt: row.dueAt, send: row.send.id, isReplacement: older != nil)
        if let idempotencyKey, let idempotency = schedule.idempotency {
            let idempotencyRow = ScheduleIdempotencyRow(
                fingerprint: idempotency.fingerprint, scheduledTimer: answer, writtenAt: stamp)
            table.set(idempotencyRow, key: idempotencyKey)
        }
        // The replaced send will not fire, unless the new timer has the same send.
        let superseded = older.flatMap { $0.send.id.isExactlyEqual(to: row.send.id) ? nil : $0 }
        return Decision(
            outcome: older == nil ? .scheduled : .replaced, answer: .scheduled(answer),
            progress: superseded.map { [$0.progress(.superseded, at: stamp)] } ?? [])
    }

    /// Returns the refusal of a schedule whose key is too long, or nil.
    private func refusalOfLongKey(_ key: [UInt8], idempotencyKey: [UInt8]?) -> Decision? {
        let byteCounts = [key.count, idempotencyKey?.count ?? 0]
        guard let byteCount = byteCounts.first(where: { $0 > Self.keyBytesMax }) else { return nil }
        return .refused(
            reason: "app, owner and id make a key of \(byteCount) bytes, and the limit is \(Self.keyBytesMax)"
        )
    }

    private func makeTimer(
        for schedule: Schedule, of command: ScheduleCommand, stamp: Int64, offset: Int64
    ) -> TimerRow {
        var send = schedule.send
        send.scheduledAt = stamp
        return TimerRow(
            app: command.app, owner: command.owner, id: schedule.id, name: schedule.name,
            activity: schedule.activity, dueAt: schedule.dueAt(recordTimestamp: stamp),
            latenessMillisecondsMax: schedule.latenessMillisecondsMax, send: send, commandOffset: offset)
    }

    /// Returns the decision about a schedule whose idempotency key was used before, or nil for a new key.
    private func repetition(
        of schedule: Schedule, key: [UInt8], stamp: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision? {
        // `setTimer` refuses a key that is too long.
        guard key.count <= Self.keyBytesMax, let idempotency = schedule.idempotency else { return nil }
        let seen = try table.idempotencyRow(for: key)
        switch Idempotency.compare(fingerprint: idempotency.fingerprint, with: seen, at: stamp) {
        case .isNew: return nil
        case .repeats(let first):
            return Decision(outcome: .repeated, answer: .scheduled(first.scheduledTimer))
        case .conflicts(let first):
            return Decision(outcome: .conflict, answer: .conflict(send: first.scheduledTimer.send))
        }
    }

    // MARK: Cancel

    /// Deletes the selected timers. A timer that has fired lately is counted in the answer, because the cancel came too
    /// late.
    private func cancel(
        _ selection: ScheduleCommand.TimerSelection, of command: ScheduleCommand, stamp: Int64,
        in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        let selected = try table.timers(of: command.owner, app: command.app).filter { row in
            // The automatic end of a group has no id. A cancel does not select it.
            guard let id = row.id else { return false }
            return selection.selects(id: id, activity: row.activity, send: row.send.id)
        }
        for row in selected { table.remove(row) }
        let firedCount = table.recentlyFiredCount(
            matching: selection, of: command.owner, app: command.app, at: stamp)
        return Decision(
            outcome: .cancelled, answer: .cancelled(selected.count, tooLate: firedCount),
            progress: selected.map { $0.progress(.cancelled, at: stamp) })
    }

    // MARK: Erase

    /// Deletes the user's timers, and takes the user out of the audiences of all other timers.
    private func erase(
        _ command: ScheduleCommand, stamp: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        var toDelete = try table.timers(of: command.owner, app: command.app)
        if case .recipient(.user(let user)) = command.owner {
            for var row in try table.timers(naming: user, app: command.app) where row.owner != command.owner {
                let hasAudience = row.send.removeFromAudience(user)
                if hasAudience { table.set(row) } else { toDelete.append(row) }
            }
        }
        for row in toDelete { table.remove(row) }
        return Decision(
            outcome: .erased, answer: .cancelled(toDelete.count, tooLate: 0),
            progress: toDelete.map { $0.progress(.cancelled, at: stamp) })
    }

    // MARK: List

    /// Lists timers of the owner in due order, from the first or from a position on.
    private func list(
        _ command: ScheduleCommand, countMax: Int, after position: TimerPosition?,
        in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        let timers = try table.timers(of: command.owner, app: command.app).compactMap(\.listing)
            .filter { timer in position.map { $0 < timer.position } ?? true }
            .sorted { $0.position < $1.position }
        let listed = Array(timers.prefix(countMax))
        return Decision(
            outcome: .listed, answer: .listed(listed, isComplete: listed.count == timers.count))
    }

    // MARK: Automatic ends

    /// Sets the timer for the automatic end of a group, which the planner asks for. A group has one such timer, for its
    /// newest generation.
    package func decide(
        _ end: AutomaticEnd, stamp: Int64, offset: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> EndDecision {
        let row = end.timer(stamp: stamp, offset: offset)
        if row.key.count > Self.keyBytesMax { return .keyTooLong(byteCount: row.key.count) }
        let older = try table.timers(of: row.owner, app: row.app).first { $0.id == nil && $0.key == row.key }
        if let generation = older?.send.generation, generation > end.generation { return .outdated }
        table.set(row)
        return .set(older == nil ? .scheduled : .replaced)
    }
}

extension TimerCommands.Decision {
    fileprivate static func refused(reason: String) -> Self {
        TimerCommands.Decision(outcome: .refused, answer: .refused(reason))
    }
}

extension Send {
    /// Takes a user out of the audience. Returns whether the send still has an audience: false, without a
    /// change, if the audience is only this user.
    fileprivate mutating func removeFromAudience(_ user: String) -> Bool {
        guard case .users(let users) = audience else { return true }
        let others = users.filter { !$0.isExactlyEqual(to: user) }
        if others.isEmpty { return false }
        audience = .users(others)
        return true
    }
}

extension AutomaticEnd {
    /// The number of bytes of the digest in an id. They are enough to tell all groups apart.
    private static let digestByteCount = 12

    fileprivate func timer(stamp: Int64, offset: Int64) -> TimerRow {
        let key = ScopeKey(app: app, group: group, recipient: owner)
        // The id is the same for each record that asks for this end, so that the send is planned once.
        let digest = Hex.text(of: Array(SHA256.digest(of: key.bytes).prefix(Self.digestByteCount)))
        var send = Send(
            id: "end-\(generation)-\(digest)", app: app, group: group, audience: .group,
            content: PushContent(.end), priority: .automaticEnd, acceptedAt: stamp)
        send.owner = owner
        send.generation = generation
        send.scheduledAt = stamp
        // Without a deadline, the send would have the group's end date as its deadline, which has passed when
        // the timer fires. `endsAt` is in seconds.
        send.deadline = endsAt + TimerCommands.endLatenessMillisecondsMax / 1000
        return TimerRow(
            app: app, owner: timerOwner, id: nil, dueAt: endsAt * 1000,
            latenessMillisecondsMax: TimerCommands.endLatenessMillisecondsMax,
            send: send, commandOffset: offset)
    }
}

extension TimerRow {
    /// The timer in the answer to a list command. Nil for the automatic end of a group, which has no id.
    fileprivate var listing: GatewayReply.ListedTimer? {
        id.map {
            GatewayReply.ListedTimer(
                id: $0, name: name, activity: activity, dueAt: dueAt, send: send.id, event: send.content.event
            )
        }
    }

    /// Returns the report about a send that will not fire.
    ///
    /// - Parameter time: milliseconds since 1970.
    package func progress(_ verdict: ProgressRecord.PlannerVerdict, at time: Int64) -> ProgressRecord {
        guard let key = send.scopeKey else { preconditionFailure("a send without a key was decoded") }
        return ProgressRecord(
            send: send.id, key: key, isDryRun: send.isDryRun, acceptedAt: send.acceptedAt, writtenAt: time,
            part: .planner(ProgressRecord.PlannerPart(verdict)))
    }
}
