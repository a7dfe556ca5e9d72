internal import Cryptography
package import LiveActivity
package import Store

/// What an order makes of its owner's timers. It knows no clock but the stamp on the order's record, so that
/// whoever decides a record again from the committed rows decides the same.
package struct OrderDesk: Sendable {
    /// Timers of one owner; beyond it a schedule is refused.
    package static let timersMax = 1000
    /// Of a timer's key: an entry in due order must be a key, too.
    package static let keyBytesMax = Limits.keyBytesMax - DueEntry.prefixBytes
    /// How late an automatic end may go: until then the system has ended the activity itself.
    package static let endLatenessMax: Int64 = 8 * 3_600_000

    /// What was decided, beside the rows.
    package struct Decision: Sendable, Hashable {
        package enum Outcome: String, Sendable, CaseIterable {
            case scheduled, replaced, repeated, conflict, refused, canceled, listed
        }

        package var outcome: Outcome
        package var answer: ScheduleReply.Answer
        /// What people are told of sends that go no more.
        package var progress: [Progress] = []
    }

    package init() {}

    /// - Parameters:
    ///   - stamp: the cluster's, on the record; milliseconds since 1970.
    ///   - offset: of the record.
    package func decide(
        _ order: ScheduleOrder, stamp: Int64, offset: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        switch order.wish {
        case .schedule(let schedule):
            return try decide(schedule, of: order, stamp: stamp, offset: offset, in: &table)
        case .cancel(let choice): return try cancel(choice, of: order, stamp: stamp, in: &table)
        case .list(let countMax):
            let timers = try table.timers(of: order.owner, app: order.app).compactMap(\.listed)
                .sorted { ($0.dueAt, $0.id) < ($1.dueAt, $1.id) }
            let listed = Array(timers.prefix(countMax))
            return Decision(
                outcome: .listed, answer: .listed(listed, isComplete: listed.count == timers.count))
        }
    }

    private func decide(
        _ schedule: Schedule, of order: ScheduleOrder, stamp: Int64, offset: Int64,
        in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        let seenKey = schedule.idempotency.map {
            SeenOrder.key(app: order.app, owner: order.owner, idempotencyKey: $0.key)
        }
        if let seenKey, seenKey.count <= Self.keyBytesMax, let seen = try table.seen(seenKey),
            seen.isKept(at: stamp)
        {
            guard seen.fingerprint == schedule.idempotency?.fingerprint else {
                return Decision(outcome: .conflict, answer: .conflict)
            }
            return Decision(outcome: .repeated, answer: .scheduled(seen.answer))
        }
        var send = schedule.send
        send.scheduledAt = stamp
        let row = TimerRow(
            app: order.app, owner: order.owner, id: schedule.id, name: schedule.name,
            activity: schedule.activity, dueAt: schedule.dueAt(stamp: stamp),
            latenessMax: schedule.latenessMax, send: send, offset: offset)
        if let bytes = [row.key.count, seenKey?.count ?? 0].first(where: { $0 > Self.keyBytesMax }) {
            return .refused(
                "app, owner and id make a key of \(bytes) bytes, at most \(Self.keyBytesMax) are possible")
        }
        let timers = try table.timers(of: order.owner, app: order.app)
        let older = timers.first { $0.id.isExactly(schedule.id) }
        if older == nil, timers.count >= Self.timersMax {
            return .refused(
                "\(timers.count) timers wait for \(order.owner.text), the most there may be; cancel some")
        }
        table.set(row)
        let answer = ScheduleReply.Scheduled(
            id: schedule.id, dueAt: row.dueAt, send: send.id, replaced: older != nil)
        if let seenKey, let idempotency = schedule.idempotency {
            let seen = SeenOrder(fingerprint: idempotency.fingerprint, answer: answer, at: stamp)
            table.set(seen, key: seenKey)
        }
        let outdated = older.flatMap { $0.send.id.isExactly(send.id) ? nil : $0 }
        return Decision(
            outcome: older == nil ? .scheduled : .replaced, answer: .scheduled(answer),
            progress: outdated.map { row in [row.progress(.superseded, at: stamp)] } ?? [])
    }

    private func cancel(
        _ choice: ScheduleOrder.Choice, of order: ScheduleOrder, stamp: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision {
        let meant = try table.timers(of: order.owner, app: order.app).filter { row in
            guard let id = row.id else { return choice == .everything }
            return choice.means(id: id, activity: row.activity, send: row.send.id)
        }
        for row in meant { table.remove(row) }
        let tooLate = table.lately(choice, of: order.owner, app: order.app, at: stamp)
        return Decision(
            outcome: .canceled, answer: .canceled(meant.count, tooLate: tooLate),
            progress: meant.map { $0.progress(.cancelled, at: stamp) })
    }

    /// The end that the planner asks for: one for each group and owner, of its newest life.
    ///
    /// - Returns: nil where a newer one waits.
    package func decide(
        _ end: EndSchedule, stamp: Int64, offset: Int64, in table: inout some TimerTable
    ) throws(StoreError) -> Decision.Outcome? {
        let row = end.timer(stamp: stamp, offset: offset)
        if row.key.count > Self.keyBytesMax { return nil }
        let older = try table.timers(of: row.owner, app: row.app).first { $0.id == nil && $0.key == row.key }
        if let generation = older?.send.generation, generation > end.generation { return nil }
        table.set(row)
        return older == nil ? .scheduled : .replaced
    }
}

extension OrderDesk.Decision {
    fileprivate static func refused(_ why: String) -> Self {
        OrderDesk.Decision(outcome: .refused, answer: .refused(why))
    }
}

extension EndSchedule {
    private static let priority = 10
    private static let digestBytes = 12

    fileprivate func timer(stamp: Int64, offset: Int64) -> TimerRow {
        let key = GroupKey(app: app, group: group, recipient: owner)
        // The same from whatever record it is made: of a group's life there is one.
        let digest = Hex.text(Array(SHA256.digest(key.bytes).prefix(Self.digestBytes)))
        var send = Send(
            id: "end-\(generation)-\(digest)", app: app, group: group, audience: .group,
            content: PushContent(.end), priority: Self.priority, acceptedAt: stamp)
        send.owner = owner
        send.generation = generation
        send.scheduledAt = stamp
        // The group's end is its deadline otherwise, and that is now.
        send.deadline = at + OrderDesk.endLatenessMax / 1000
        return TimerRow(
            app: app, owner: timerOwner, id: nil, dueAt: at * 1000, latenessMax: OrderDesk.endLatenessMax,
            send: send, offset: offset)
    }
}

extension TimerRow {
    /// Nil for an end that nobody has scheduled by name.
    fileprivate var listed: ScheduleReply.Listed? {
        id.map {
            ScheduleReply.Listed(
                id: $0, name: name, activity: activity, dueAt: dueAt, send: send.id, event: send.content.event
            )
        }
    }

    /// What people are told of a send that goes no more.
    ///
    /// - Parameter time: milliseconds since 1970.
    package func progress(_ verdict: Progress.Verdict, at time: Int64) -> Progress {
        guard let key = send.groupKey else { preconditionFailure("a send without a key was decoded") }
        return Progress(
            send: send.id, key: key, dryRun: send.dryRun, acceptedAt: send.acceptedAt, at: time,
            .verdict(Progress.PlannedPart(verdict)))
    }

    package enum Fate: Sendable, Hashable {
        case fires(Send)
        /// It is later than it may be.
        case expires
    }

    /// What becomes of it at a time at which it is due.
    package func fate(at time: Int64) -> Fate {
        if time - dueAt > latenessMax { return .expires }
        var send = send
        // From then on it is answered for; whoever was reached by another name before is not meant.
        send.acceptedAt = dueAt
        return .fires(send)
    }
}
