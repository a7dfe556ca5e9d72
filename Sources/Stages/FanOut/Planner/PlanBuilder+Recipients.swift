internal import Identifiers
internal import Payloads
internal import Sends
internal import Store

// Sends to named users and activities of a group. Each of them is a separate scope within the group.

extension PlanBuilder {
    /// Splits a send to users by their lanes, with the version of each user's scope. A start comes here after
    /// `start(_:_:in:)` has opened the group's generation or joined it. Users join that generation. A user whose own
    /// END came later begins a separate generation.
    mutating func planForUsers(
        _ users: [String], with send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        var (send, row) = (send, row)
        // An update to a list, or with `conflate: false`, is not held. The update that the group holds is older, so it
        // goes first.
        if send.content.event == .update, users.count > 1 || !send.isConflatable {
            releaseHeldSend(of: &row, in: &table)
        }
        if let user = users.first, users.count == 1 {
            let own = try currentRow(of: key.narrowed(to: .user(user)), in: table)
            let isHeld = holdIfNeeded(send, own, whole: row, of: .user(user), in: &table)
            if isHeld { return }
            // The start carries the user's own newest state, which is newer than the group's.
            if send.content.event == .start, let state = own.ownState(within: row) {
                send.content.replaceState(with: state)
            }
        }
        // `start(_:_:in:)` has already given a start its place in the order of the group.
        let version = send.content.event == .start ? row.highestVersion : nextVersion(in: row)
        var found: [ScopedByLane] = []
        var ended = 0
        for user in users {
            let recipient = Recipient.user(user)
            guard
                let scoped = try planForRecipient(
                    recipient, with: send, version: version, within: &row, in: &table)
            else {
                ended += 1
                continue
            }
            let lane = planner.lane(of: recipient, app: key.app)
            // A cancel must find the lane.
            row.memberLanes.insert(lane)
            found.append(ScopedByLane(lane: lane, scoped: scoped))
        }
        row.lastSendAt = stamp
        table.set(row, of: key)
        // `ifVersion` of the next send to these users is compared with the version of each of them.
        guard let reportedVersion = found.map(\.scoped.version).max() else {
            return report(.ended, for: send, ended: ended)
        }
        // The order within a lane is the order of the request.
        let lanes = Dictionary(grouping: found, by: \.lane).sorted { $0.key < $1.key }
        for (lane, list) in lanes {
            let targets = Expansion.Targets.recipients(list.map(\.scoped))
            let expansion = expansion(
                send, to: targets, as: row, version: row.version, timestamp: row.timestamp)
            add(.expansion(expansion), for: .only(LaneSet([lane])))
        }
        report(
            .planned, for: send, version: reportedVersion, generation: row.generation, lanes: lanes.count,
            findings: findings(ofPlanned: send, row), ended: ended)
    }

    private struct ScopedByLane {
        let lane: Int
        let scoped: Expansion.ScopedRecipient
    }

    /// Holds an update to one recipient if its timestamp would be ahead of the clock, or if the whole group
    /// holds an earlier send. Of several held sends only the newest goes. So a send with `conflate: false` is
    /// not held. Returns whether the send is held.
    private mutating func holdIfNeeded(
        _ send: Send, _ own: GroupRow, whole: GroupRow, of recipient: Recipient,
        in table: inout some GroupTable
    ) -> Bool {
        guard send.content.event == .update, send.isConflatable, !send.isDryRun,
            ScopePhase(own: own, whole: whole).action(of: .update) == .sendState
        else {
            return false
        }
        let timestamp = ScopeTimestamps.next(own: own, whole: whole, at: now)
        guard whole.heldSend != nil || ScopeTimestamps.isTooFarAhead(timestamp, at: now) else {
            return false
        }
        var own = own
        supersedeHeldSend(of: &own)
        own.heldSend = send
        own.groupSendCountWhenHeld = whole.groupSendCount
        own.lastSendAt = stamp
        table.set(own, of: key.narrowed(to: recipient))
        plan.heldSend = Plan.HeldSend(
            key: key.narrowed(to: recipient), at: max(timestamp - ScopeTimestamps.aheadSecondsMax, now + 1))
        report(.held, for: send)
        return true
    }

    /// Returns the recipient with the version that the send has for it. Returns nil if the recipient's generation in
    /// the group has ended.
    private mutating func planForRecipient(
        _ recipient: Recipient, with send: Send, version: Int64, within whole: inout GroupRow,
        in table: inout some GroupTable
    ) throws(StoreError) -> Expansion.ScopedRecipient? {
        var own = try currentRow(of: key.narrowed(to: recipient), in: table)
        let action = ScopePhase(own: own, whole: whole).action(of: send.content.event)
        if action == .joinGeneration {
            let hasOwn = own.generation > whole.generation
            // The version tells which state the start carries: the recipient's own, which `planForUsers` has put into
            // it, or the group's. If it is the group's, the lane may know a newer state of the recipient.
            let isOwnState = send.audience.namesOne && own.ownState(within: whole) != nil
            return Expansion.ScopedRecipient(
                recipient, scope: hasOwn ? .recipient : .group,
                generation: max(own.generation, whole.generation),
                version: isOwnState ? own.version : whole.version,
                timestamp: isOwnState ? own.timestamp : whole.timestamp)
        }
        if action == .refuseUpdate || action == .repeatEnd { return nil }
        if send.content.event != .start, own.hasEnded(since: send.scheduledAt) { return nil }
        supersedeHeldSend(of: &own)
        // A state is stored only if it was for this recipient alone. For a list of ten thousand users, the rows would
        // hold ten thousand copies, and the lanes have the state anyway.
        let isAlone = send.audience.namesOne
        let shown = own.version > whole.version ? own : whole
        let replacesState = isAlone && send.content.event == .update
        own.replacedStates = replacesState ? shown.statesThatNextUpdateReplaces(cancelledIn: whole) : []
        return advance(
            own, of: recipient, by: send, keepsState: isAlone, version: version, within: &whole, in: &table)
    }

    /// Gives the recipient's phones a new state.
    ///
    /// - Parameters:
    ///   - keepsState: whether the recipient's row keeps the state.
    ///   - origin: the send that first had this state, if this send restores it.
    mutating func advance(
        _ own: GroupRow, of recipient: Recipient, by send: Send, keepsState: Bool = true,
        origin: String? = nil,
        version: Int64, within whole: inout GroupRow, in table: inout some GroupTable
    ) -> Expansion.ScopedRecipient {
        var own = own
        let timestamp = ScopeTimestamps.next(own: own, whole: whole, at: now)
        own.newestState =
            keepsState ? state(of: send, in: whole, version: version, timestamp: timestamp) : nil
        own.newestState?.originalSend = origin
        (own.version, own.timestamp) = (version, timestamp)
        own.lastSendAt = stamp
        switch send.content.event {
        case .start: own.generation = version
        case .update: own.updateCount += 1
        case .end: (own.endVersion, own.endTimestamp) = (version, stamp)
        }
        whole.noteRecipient(version: version, timestamp: timestamp)
        table.set(own, of: key.narrowed(to: recipient))
        return Expansion.ScopedRecipient(
            recipient, scope: .recipient, generation: max(own.generation, whole.generation),
            version: version, timestamp: timestamp)
    }

    /// Plans a send to named activities. Only a lane knows the owner of an activity, so every lane gets the
    /// send. The lane that has the activity stores the recipient's state, and raises the timestamp above the
    /// recipient's last one. So these sends do not move the timestamps of other recipients.
    mutating func planForActivities(
        named names: [String], with send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        let action = ScopePhase(row).action(of: send.content.event)
        if action == .refuseUpdate || action == .repeatEnd { return report(.ended, for: send) }
        var row = row
        if send.content.event == .update { releaseHeldSend(of: &row, in: &table) }
        let version = nextVersion(in: row)
        (row.laneOnlyVersion, row.highestVersion) = (version, version)
        row.lastSendAt = stamp
        table.set(row, of: key)
        let expansion = expansion(
            send, to: .activities(names), as: row, version: version,
            timestamp: ScopeTimestamps.next(whole: row, at: now))
        let lanes = addExpansion(expansion, of: row)
        report(
            .planned, for: send, version: version, generation: row.generation, lanes: lanes,
            findings: findings(ofNames: names))
    }

    /// Returns findings about named activities whose tokens are not known yet.
    private func findings(ofNames names: [String]) -> [String] {
        let countMax = NamedActivityCopies.keptActivitiesMax
        if names.count <= countMax { return [] }
        return [
            "audience: names \(names.count) activities. It reaches only those whose tokens are known now. A send that names at most \(countMax) also reaches tokens that come later"
        ]
    }
}

extension GroupRow {
    /// Notes the send to one recipient of the group.
    mutating func noteRecipient(version: Int64, timestamp: Int64) {
        highestVersion = max(highestVersion, version)
        highestTimestamp = max(highestTimestamp, timestamp)
    }
}
