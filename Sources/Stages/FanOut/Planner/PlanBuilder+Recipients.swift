internal import Identifiers
internal import Payloads
internal import Sends
internal import Store

// Sends to named users and activities of a shared group. Each of them is a separate scope within the group: `own` is
// its row, and `row` the group's.

extension PlanBuilder {
    /// Plans a send to users, and sends each lane its part of them. A start comes here after `start` has opened the
    /// group's generation or joined it.
    mutating func planForUsers(_ users: [String], with send: Send) throws(StoreError) {
        var send = send
        let version: Int64
        switch send.content.event {
        case .start:
            // The start carries the user's own newest state, which is newer than the group's.
            if let single = singleUser(of: send), let state = try ownRow(of: single).ownState(within: row) {
                send.content.replaceState(with: state)
            }
            // `start` has already given the send its place in the order of the group.
            version = row.highestVersion
        case .update:
            if let single = singleUser(of: send), send.isConflatable {
                if try holdIfNeeded(send, of: single) { return }
            } else {
                // This update cannot wait. The update that the group holds is older, so it goes first.
                releaseHeldSend()
            }
            version = nextVersion
        // An END need not wait for an update that the group holds: the update finds these users' scopes ended.
        case .end: version = nextVersion
        }
        var planned: [Int: [Expansion.ScopedRecipient]] = [:]
        var ended = 0
        for user in users {
            let recipient = Recipient.user(user)
            guard let scoped = try planForRecipient(recipient, with: send, version: version) else {
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
        // The users can have different versions. The highest is reported: a caller that names it as `ifVersion` of the
        // next send has seen the state of each of them.
        guard let reportedVersion = planned.values.joined().map(\.version).max() else {
            return report(.ended, for: send, ended: ended)
        }
        for (lane, recipients) in planned.sorted(by: { $0.key < $1.key }) {
            add(.expansion(expansion(of: send, to: .recipients(recipients))), for: .only(LaneSet([lane])))
        }
        report(
            .planned, for: send, version: reportedVersion, generation: row.generation, lanes: planned.count,
            findings: findings(ofPlanned: send), ended: ended)
    }

    /// Holds an update to one recipient if its timestamp would be ahead of the clock, or if the whole group holds an
    /// earlier send. Of several held sends only the newest goes. Returns whether the send is held.
    private mutating func holdIfNeeded(_ send: Send, of recipient: Recipient) throws(StoreError) -> Bool {
        var own = try ownRow(of: recipient)
        let action = ScopePhase(own: own, whole: row).action(of: .update)
        if send.isDryRun || action != .sendState { return false }
        let timestamp = ScopeTimestamps.next(own: own, whole: row, at: now)
        guard row.heldSend != nil || ScopeTimestamps.isTooFarAhead(timestamp, at: now) else { return false }
        if let older = own.takeHeldSend() { report(.superseded, for: older) }
        own.heldSend = send
        // If the count has grown when the send is due, a newer send to the whole group has replaced it.
        own.groupSendCountWhenHeld = row.groupSendCount
        own.lastSendAt = stamp
        set(own, of: recipient, for: send)
        plan.heldSend = Plan.HeldSend(
            key: key.narrowed(to: recipient), at: max(timestamp - ScopeTimestamps.aheadSecondsMax, now + 1))
        report(.held, for: send)
        return true
    }

    /// Plans the held send of a recipient, which is due, or drops it.
    mutating func release(
        _ send: Send, of recipient: Recipient, heldIn own: GroupRow
    ) throws(StoreError) {
        try readRow()
        // A newer send to the whole group replaces this one.
        let isReplaced = row.groupSendCount != own.groupSendCountWhenHeld
        // The group still holds an older send, which goes first. So this send waits another second.
        if row.heldSend != nil, !isReplaced {
            plan.heldSend = Plan.HeldSend(key: key.narrowed(to: recipient), at: now + 1)
            return
        }
        var own = own
        own.heldSend = nil
        set(own, of: recipient, for: send)
        if isExpired(send) { return report(.expired, for: send) }
        if isReplaced { return report(.superseded, for: send) }
        try apply(send)
        try writeRow()
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
            switch ScopePhase(own: own, whole: whole).action(of: ScopeEvent(send.content.event)) {
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
        _ recipient: Recipient, with send: Send, version: Int64
    ) throws(StoreError) -> Expansion.ScopedRecipient? {
        var own = try ownRow(of: recipient)
        let isSingle = singleUser(of: send) != nil
        switch RecipientResult(of: send, own: own, whole: row) {
        case .ended: return nil
        case .joins:
            // The start carries the state of a single user if there is one (`planForUsers`), otherwise the group's
            // state. The version belongs to the carried state. The lane replaces the group's state if it knows a newer
            // one of the recipient.
            let carried = isSingle && own.ownState(within: row) != nil ? own : row
            return Expansion.ScopedRecipient(
                recipient, scope: own.generation > row.generation ? .recipient : .group,
                generation: max(own.generation, row.generation), version: carried.version,
                timestamp: carried.timestamp)
        case .advances:
            if let older = own.takeHeldSend() { report(.superseded, for: older) }
            // A cancel brings back the state before the update: the recipient's own, or the group's if that is newer.
            let before = own.version > row.version ? own : row
            own.replacedStates =
                isSingle && send.content.event == .update
                ? before.statesThatNextUpdateReplaces(exceptCancelledIn: row) : []
            return advance(own, of: recipient, by: send, version: version)
        }
    }

    /// Gives the recipient's phones a new state. The row keeps the state only for a single recipient. For a list of ten
    /// thousand users, the rows would hold ten thousand copies, and the lanes have the state anyway.
    ///
    /// - Parameter origin: the send that first had this state, if this send restores it.
    mutating func advance(
        _ own: GroupRow, of recipient: Recipient, by send: Send, origin: String? = nil, version: Int64
    ) -> Expansion.ScopedRecipient {
        var own = own
        let timestamp = ScopeTimestamps.next(own: own, whole: row, at: now)
        let isKept = singleUser(of: send) != nil
        own.newestState = isKept ? state(of: send, version: version, timestamp: timestamp) : nil
        own.newestState?.originalSend = origin
        (own.version, own.timestamp) = (version, timestamp)
        own.lastSendAt = stamp
        switch send.content.event {
        case .start: own.generation = version
        case .update: own.updateCount += 1
        case .end: (own.endVersion, own.endStamp) = (version, stamp)
        }
        row.highestVersion = max(row.highestVersion, version)
        row.highestTimestamp = max(row.highestTimestamp, timestamp)
        set(own, of: recipient, for: send)
        return Expansion.ScopedRecipient(
            recipient, scope: .recipient, generation: max(own.generation, row.generation),
            version: version, timestamp: timestamp)
    }

    /// Plans a send to named activities. Only a lane knows the owner of an activity, so every lane gets the send. The
    /// lane that has the activity stores the recipient's state, and raises the timestamp above the recipient's last
    /// one. So these sends do not move the timestamps of other recipients.
    mutating func planForActivities(named names: [String], with send: Send) {
        let action = ScopePhase(row).action(of: ScopeEvent(send.content.event))
        if action == .refuseUpdate || action == .repeatEnd { return report(.ended, for: send) }
        if send.content.event == .update { releaseHeldSend() }
        let version = nextVersion
        // The group's own version and timestamp stay, because only lanes know the recipients. `ifVersion` of the next
        // send to named activities is compared with `laneOnlyVersion`.
        (row.laneOnlyVersion, row.highestVersion) = (version, version)
        row.lastSendAt = stamp
        var expansion = expansion(of: send, to: .activities(names))
        (expansion.version, expansion.timestamp) = (version, ScopeTimestamps.next(whole: row, at: now))
        let lanes = addExpansion(expansion)
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
