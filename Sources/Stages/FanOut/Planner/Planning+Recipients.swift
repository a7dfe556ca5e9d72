internal import LiveActivity
internal import Store

// Sends to named users and activities of a group. Each of them is a separate scope within the group.

extension Planning {
    /// Splits a send to users by their lanes, with the version of each user's scope. For a start, `row` is
    /// open. Users join the group's generation. A user whose own END came later begins a
    /// separate generation.
    mutating func address(
        _ users: [String], with send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        var (send, row) = (send, row)
        var isUrgent = false
        // For a list, the rows do not keep a state for each recipient.
        var keepsReplaced = true
        var saysOwnState = false
        if send.content.event == .update, users.count > 1 || !send.conflate { letHeldGo(&row, in: &table) }
        if let user = users.first, users.count == 1 {
            let own = try known(key.of(.user(user)), in: table)
            if hold(send, own, whole: row, of: .user(user), in: &table) { return }
            if send.content.event == .start, let state = own.ownState(within: row) {
                send.content.say(state)
                saysOwnState = true
            }
            keepsReplaced = isShownOnlyInLanes(own, row)
            isUrgent = send.content.event != .start || !keepsReplaced
        }
        let reopens = versionToReopen(send, &row)
        // It must stay behind the END that it may follow.
        if reopens != nil { isUrgent = false }
        var found: [ScopedByLane] = []
        var ended = 0
        for user in users {
            let recipient = Recipient.user(user)
            guard let scoped = try address(recipient, with: send, &row, in: &table) else {
                ended += 1
                continue
            }
            found.append(ScopedByLane(lane: planner.lane(of: recipient, app: key.app), scoped: scoped))
        }
        row.lastAt = stamp
        table.set(row, of: key)
        guard let first = found.first else { return say(.ended, send, ended: ended) }
        // The order within a lane is the order of the request.
        let lanes = Dictionary(grouping: found, by: \.lane).sorted { $0.key < $1.key }
        for (lane, list) in lanes {
            let targets = Expansion.Targets.recipients(list.map(\.scoped))
            var expansion = expansion(send, to: targets, as: row, version: row.version)
            expansion.keepsReplaced = keepsReplaced && send.content.event == .update
            expansion.saysOwnState = saysOwnState
            expansion.reopens = reopens
            if reopens != nil { expansion.behindEnd = endOnItsOwnWay(row) }
            plan.parts.append(Plan.Part(expansion: expansion, lane: lane, isUrgent: isUrgent))
        }
        say(
            .planned, send, version: users.count == 1 ? first.scoped.version : row.version,
            generation: row.generation, lanes: lanes.count, findings: findings(ofPlanned: send, row),
            ended: ended)
    }

    /// Returns a version above all versions of the group, for users whose part of the generation may have
    /// ended by an activity's name.
    private func versionToReopen(_ send: Send, _ whole: inout GroupRow) -> Int64? {
        guard send.content.event == .start, whole.namedEndAt > whole.generation else { return nil }
        let version = ScopeVersions.next(whole: whole, at: now)
        whole.floor = version
        whole.highest = version
        return version
    }

    /// Returns the newest END of one named activity, if a start may have overtaken it.
    private func endOnItsOwnWay(_ whole: GroupRow) -> Int64? {
        let end = whole.urgentEndAt
        return end > whole.generation && now - end < Self.endRememberedSeconds ? end : nil
    }

    private struct ScopedByLane {
        let lane: Int
        let scoped: Expansion.ScopedRecipient
    }

    /// Whether only a lane knows the recipient's last state, because the send went to a list or to an
    /// activity's name. Then the recipient's start must not overtake that send. Otherwise the phone would
    /// start with an older state.
    private func isShownOnlyInLanes(_ own: GroupRow, _ whole: GroupRow) -> Bool {
        let isOwn = own.version > max(whole.version, whole.floor)
        return isOwn ? own.ownState(within: whole) == nil : whole.floor > whole.version
    }

    /// Holds an update to one recipient if its version would be ahead of the clock, or if the whole group
    /// holds an earlier send. Of several held sends only the newest goes. So a send with `conflate: false` is
    /// not held.
    private mutating func hold(
        _ send: Send, _ own: GroupRow, whole: GroupRow, of recipient: Recipient,
        in table: inout some GroupTable
    ) -> Bool {
        guard send.content.event == .update, send.conflate, !send.dryRun,
            ScopeLife(own: own, whole: whole) != .ended
        else {
            return false
        }
        let version = ScopeVersions.next(own: own, whole: whole, at: now)
        guard whole.held != nil || ScopeVersions.isTooFarAhead(version, at: now) else { return false }
        var own = own
        if let older = own.held { say(.superseded, older) }
        own.held = send
        own.heldAfter = whole.words
        own.lastAt = stamp
        table.set(own, of: key.of(recipient))
        plan.held = Plan.Held(key: key.of(recipient), at: max(version - ScopeVersions.aheadMax, now + 1))
        say(.held, send)
        return true
    }

    /// Returns nil if the recipient's generation in the group has ended.
    private mutating func address(
        _ recipient: Recipient, with send: Send, _ whole: inout GroupRow, in table: inout some GroupTable
    ) throws(StoreError) -> Expansion.ScopedRecipient? {
        var own = try known(key.of(recipient), in: table)
        let life = ScopeLife(own: own, whole: whole)
        if send.content.event == .start, life == .open {
            let hasOwn = own.generation > whole.generation
            // The version is that of the state in the start. If that is the group's state, the lane may know
            // a newer state of the recipient. The send that opened the recipient's own generation may still
            // be on its way to the lane.
            let isOwnState = isAlone(send) && own.ownState(within: whole) != nil
            return Expansion.ScopedRecipient(
                recipient, scope: hasOwn ? .recipient : .group,
                generation: max(own.generation, whole.generation),
                version: isOwnState ? own.version : whole.version)
        }
        if send.content.event != .start, life == .ended || own.hasEnded(since: send.scheduledAt) {
            return nil
        }
        if let older = own.held { say(.superseded, older) }
        own.held = nil
        let version = ScopeVersions.next(own: own, whole: whole, at: now)
        keep(send, version: version, in: &own, whole)
        switch send.content.event {
        case .start: own.generation = version
        case .update: own.updates += 1
        case .end:
            own.endedAt = version
            own.endedTime = stamp
        }
        whole.highest = max(whole.highest, version)
        table.set(own, of: key.of(recipient))
        return Expansion.ScopedRecipient(
            recipient, scope: .recipient, generation: max(own.generation, whole.generation), version: version)
    }

    /// Stores a state in a recipient's row only if it was for that recipient alone. For a list of ten
    /// thousand users, the rows would hold ten thousand copies, and the lanes have the state anyway.
    private func keep(_ send: Send, version: Int64, in own: inout GroupRow, _ whole: GroupRow) {
        let isAlone = isAlone(send)
        let shown = own.version > whole.version ? own : whole
        own.previous =
            isAlone && send.content.event == .update ? shown.replacedStates(within: whole) : []
        own.newest = isAlone ? state(send, whole, version: version) : nil
        own.version = version
        own.lastAt = stamp
    }

    private func isAlone(_ send: Send) -> Bool {
        if case .users(let users) = send.audience { users.count == 1 } else { false }
    }

    /// Plans a send to named activities. Only a lane knows the owner of an activity, so every lane gets the
    /// send. Its version is above all scopes of the group. The lane that has the activity stores the
    /// recipient's state.
    mutating func address(
        activities names: [String], with send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        if ScopeLife(row) == .ended { return say(.ended, send) }
        var row = row
        if send.content.event == .update { letHeldGo(&row, in: &table) }
        let version = ScopeVersions.next(whole: row, at: now)
        row.floor = version
        row.highest = version
        if send.content.event == .end {
            row.namedEndAt = version
            if isOnItsOwnWay(names) { row.urgentEndAt = version }
        }
        row.lastAt = stamp
        table.set(row, of: key)
        var expansion = expansion(send, to: .activities(names), as: row, version: version)
        expansion.keepsReplaced = send.content.event == .update
        let lanes = expand(expansion)
        say(.planned, send, version: version, generation: row.generation, lanes: lanes)
    }
}
