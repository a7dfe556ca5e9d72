internal import LiveActivity
internal import Store

// Sends to named users and activities of a group: each is a scope of its own within the group.

extension Planning {
    /// Splits a send to users by their lanes, each with the version of its own scope. For a start, `row` is open:
    /// users join the group's life, and only whom an end of their own has taken out of it begin one of their own.
    mutating func address(
        _ users: [String], with send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        var row = row
        var found: [ScopedByLane] = []
        var ended = 0
        let isSingle = users.count == 1
        for user in users {
            let recipient = Recipient.user(user)
            let own = try table.row(of: key.of(recipient)) ?? GroupRow()
            if isSingle, try hold(send, own, row, of: recipient, in: &table) { return }
            guard let scoped = address(recipient, with: send, own, &row, in: &table) else {
                ended += 1
                continue
            }
            found.append(ScopedByLane(lane: planner.lane(of: recipient, app: key.app), scoped: scoped))
        }
        row.lastAt = stamp
        table.set(row, of: key)
        if found.isEmpty { return say(.ended, send, ended: ended) }
        // Their order within a lane is the request's.
        let lanes = Dictionary(grouping: found, by: \.lane).sorted { $0.key < $1.key }
        for (lane, list) in lanes {
            let targets = Expansion.Targets.recipients(list.map(\.scoped))
            plan.parts.append(
                Plan.Part(
                    expansion: expansion(send, targets, row, version: row.version), lane: lane,
                    isUrgent: users.count == 1))
        }
        say(
            .planned, send, version: isSingle ? found[0].scoped.version : row.version,
            generation: row.generation, lanes: lanes.count, ended: ended)
    }

    private struct ScopedByLane {
        let lane: Int
        let scoped: Expansion.ScopedRecipient
    }

    /// An update to one recipient that would run ahead of the clock waits; among those that wait the newest wins.
    private mutating func hold(
        _ send: Send, _ own: GroupRow, _ whole: GroupRow, of recipient: Recipient,
        in table: inout some GroupTable
    ) throws(StoreError) -> Bool {
        guard send.content.event != .start, ScopeLife(own: own, whole: whole) != .ended else { return false }
        if let older = own.held { say(.superseded, older) }
        let version = ScopeVersions.next(own: own, whole: whole, at: now)
        guard send.content.event == .update, ScopeVersions.isTooFarAhead(version, at: now) else {
            return false
        }
        var own = own
        own.held = send
        own.heldAbove = whole.floor
        own.lastAt = stamp
        table.set(own, of: key.of(recipient))
        plan.held = Plan.Held(key: key.of(recipient), at: version - ScopeVersions.aheadMax)
        say(.held, send)
        return true
    }

    /// Nil where the recipient's life in the group has ended.
    private mutating func address(
        _ recipient: Recipient, with send: Send, _ own: GroupRow, _ whole: inout GroupRow,
        in table: inout some GroupTable
    ) -> Expansion.ScopedRecipient? {
        let life = ScopeLife(own: own, whole: whole)
        if send.content.event == .start, life == .open {
            let hasOwn = own.generation > whole.generation
            return Expansion.ScopedRecipient(
                recipient, scope: hasOwn ? .recipient : .group,
                generation: max(own.generation, whole.generation), version: max(own.version, whole.version))
        }
        if send.content.event != .start, life == .ended { return nil }
        var own = own
        let version = ScopeVersions.next(own: own, whole: whole, at: now)
        own.held = nil
        own.previous = send.content.event == .update ? own.newest : nil
        own.version = version
        switch send.content.event {
        case .start: own.generation = version
        case .update: own.updates += 1
        case .end:
            own.endedAt = version
            own.endedTime = stamp
        }
        own.newest = state(send, whole, version: version)
        own.lastAt = stamp
        whole.highest = max(whole.highest, version)
        table.set(own, of: key.of(recipient))
        return Expansion.ScopedRecipient(
            recipient, scope: .recipient, generation: max(own.generation, whole.generation), version: version)
    }

    /// Only a lane knows whose an activity is: the version exceeds all scopes of the group, every lane gets it, and
    /// the one that has the activity keeps its recipient's state.
    mutating func address(
        activities names: [String], with send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        if ScopeLife(row) == .ended { return say(.ended, send) }
        var row = row
        let version = ScopeVersions.next(whole: row, at: now)
        row.floor = version
        row.highest = version
        row.lastAt = stamp
        table.set(row, of: key)
        let lanes = expand(expansion(send, .activities(names), row, version: version))
        say(.planned, send, version: version, generation: row.generation, lanes: lanes)
    }
}
