internal import Identifiers
internal import Payloads
internal import Sends
internal import Store

// Sends to named users and activities of a group. Each of them is a separate scope within the group: `own` is its row,
// and `whole` the group's.

extension PlanBuilder {
    /// Plans a send to users, and sends each lane its part of them. A start comes here after `start(_:_:in:)` has opened
    /// the group's generation or joined it.
    mutating func planForUsers(
        _ users: [String], with send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        var (send, row) = (send, row)
        let single = users.count == 1 ? Recipient.user(users[0]) : nil
        switch send.content.event {
        case .start:
            // The start carries the user's own newest state, which is newer than the group's.
            if let single,
                let state = try currentRow(of: key.narrowed(to: single), in: table).ownState(within: row)
            {
                send.content.replaceState(with: state)
            }
        case .update:
            if let single, send.isConflatable {
                if try holdIfNeeded(send, within: row, of: single, in: &table) { return }
            } else {
                // This update cannot wait. The update that the group holds is older, so it goes first.
                releaseHeldSend(of: &row, in: &table)
            }
        // An END need not wait for an update that the group holds: the update finds these users' scopes ended.
        case .end: break
        }
        // `start(_:_:in:)` has already given a start its place in the order of the group.
        let version = send.content.event == .start ? row.highestVersion : nextVersion(in: row)
        var planned: [Int: [Expansion.ScopedRecipient]] = [:]
        var ended = 0
        for user in users {
            let recipient = Recipient.user(user)
            let scoped = try planForRecipient(
                recipient, with: send, version: version, within: &row, in: &table)
            guard let scoped else {
                ended += 1
                continue
            }
            let lane = planner.lane(of: recipient, app: key.app)
            // A cancel must find the lane.
            row.memberLanes.insert(lane)
            // The order within a lane is the order of the request.
            planned[lane, default: []].append(scoped)
        }
        row.lastSendAt = stamp
        table.set(row, of: key)
        // The users can have different versions. The highest is reported: a caller that names it as `ifVersion` of the
        // next send has seen the state of each of them.
        guard let reportedVersion = planned.values.joined().map(\.version).max() else {
            return report(.ended, for: send, ended: ended)
        }
        for (lane, recipients) in planned.sorted(by: { $0.key < $1.key }) {
            let expansion = expansion(
                send, to: .recipients(recipients), as: row, version: row.version, timestamp: row.timestamp)
            add(.expansion(expansion), for: .only(LaneSet([lane])))
        }
        report(
            .planned, for: send, version: reportedVersion, generation: row.generation, lanes: planned.count,
            findings: findings(ofPlanned: send, row), ended: ended)
    }

    /// Holds an update to one recipient if its timestamp would be ahead of the clock, or if the whole group holds an
    /// earlier send. Of several held sends only the newest goes. Returns whether the send is held.
    private mutating func holdIfNeeded(
        _ send: Send, within whole: GroupRow, of recipient: Recipient, in table: inout some GroupTable
    ) throws(StoreError) -> Bool {
        let ownKey = key.narrowed(to: recipient)
        var own = try currentRow(of: ownKey, in: table)
        let action = ScopePhase(own: own, whole: whole).action(of: .update)
        if send.isDryRun || action != .sendState { return false }
        let timestamp = ScopeTimestamps.next(own: own, whole: whole, at: now)
        guard whole.heldSend != nil || ScopeTimestamps.isTooFarAhead(timestamp, at: now) else {
            return false
        }
        supersedeHeldSend(of: &own)
        own.heldSend = send
        // If the count has grown when the send is due, a newer send to the whole group has replaced it.
        own.groupSendCountWhenHeld = whole.groupSendCount
        own.lastSendAt = stamp
        table.set(own, of: ownKey)
        plan.heldSend = Plan.HeldSend(
            key: ownKey, at: max(timestamp - ScopeTimestamps.aheadSecondsMax, now + 1))
        report(.held, for: send)
        return true
    }

    /// The result of a send for one recipient of a group.
    private enum RecipientResult {
        /// The recipient's generation has ended, so the recipient gets nothing.
        case ended
        /// The start adds the recipient to a generation that is open already. The recipient gets the newest state of
        /// that generation, so no row changes.
        case joins
        /// The recipient gets a new state: the send's.
        case advances

        init(of send: Send, own: GroupRow, whole: GroupRow) {
            switch ScopePhase(own: own, whole: whole).action(of: send.content.event) {
            case .joinGeneration: self = .joins
            case .openGeneration: self = .advances
            case .refuseUpdate, .repeatEnd: self = .ended
            // A send that was scheduled before the recipient's END is for the generation that this END has closed.
            default: self = own.hasEnded(since: send.scheduledAt) ? .ended : .advances
            }
        }
    }

    /// Returns the recipient with the version that the send has for it, or nil if it gets nothing.
    private mutating func planForRecipient(
        _ recipient: Recipient, with send: Send, version: Int64, within whole: inout GroupRow,
        in table: inout some GroupTable
    ) throws(StoreError) -> Expansion.ScopedRecipient? {
        var own = try currentRow(of: key.narrowed(to: recipient), in: table)
        let isSingle = send.audience.namesOne
        switch RecipientResult(of: send, own: own, whole: whole) {
        case .ended: return nil
        case .joins:
            // The start carries the state of a single user if there is one (`planForUsers`), otherwise the group's
            // state. The version belongs to the carried state. The lane replaces the group's state if it knows a newer
            // one of the recipient.
            let carried = isSingle && own.ownState(within: whole) != nil ? own : whole
            return Expansion.ScopedRecipient(
                recipient, scope: own.generation > whole.generation ? .recipient : .group,
                generation: max(own.generation, whole.generation), version: carried.version,
                timestamp: carried.timestamp)
        case .advances:
            supersedeHeldSend(of: &own)
            // A cancel brings back the state before the update: the recipient's own, or the group's if that is newer.
            // States are kept only for a single recipient. For a list of ten thousand users, the rows would hold ten
            // thousand copies, and the lanes have the state anyway.
            let before = own.version > whole.version ? own : whole
            own.replacedStates =
                isSingle && send.content.event == .update
                ? before.statesThatNextUpdateReplaces(exceptCancelledIn: whole) : []
            return advance(
                own, of: recipient, by: send, keepsState: isSingle, version: version, within: &whole,
                in: &table)
        }
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
        case .end: (own.endVersion, own.endStamp) = (version, stamp)
        }
        whole.highestVersion = max(whole.highestVersion, version)
        whole.highestTimestamp = max(whole.highestTimestamp, timestamp)
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
        // The group's own version and timestamp stay, because only lanes know the recipients. `ifVersion` of the next
        // send to named activities is compared with `laneOnlyVersion`.
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
