internal import Identifiers
internal import Sends
internal import Store

// The cancel of a send. A held send is dropped, lanes and senders stop the send, and the state that it had superseded
// returns.

extension PlanBuilder {
    mutating func cancel(_ cancel: Cancellation) throws(StoreError) {
        try readRow()
        if row.heldSend?.id == cancel.send, let held = row.takeHeldSend() {
            report(.cancelled, for: held)
            return try writeRow()
        }
        let single = key.recipient == nil ? cancel.recipient : nil
        var own = GroupRow()
        if let single { own = try ownRow(of: single) }
        if let single, own.heldSend?.id == cancel.send, let held = own.takeHeldSend() {
            report(.cancelled, for: held)
            return set(own, of: single, for: held)
        }
        guard row.storeCancel(of: cancel.send, at: stamp) else { return refuse(cancel) }
        add(.stop(StopInstruction(send: cancel.send, key: key)), for: lanes)
        report(.init(.stopping, laneCount: lanes.count(of: planner.lanes)), of: cancel)
        if let single { undo(cancel, in: own, of: single) } else { undo(cancel) }
        plan.note = SupersededVersions(row, of: key, at: stamp)
        try writeRow()
    }

    /// Reports that the send goes on, because the group has too many other cancels.
    private mutating func refuse(_ cancel: Cancellation) {
        var part = ProgressRecord.PlannerPart(.cancelRefused)
        part.findings = [
            "the send is not cancelled and goes on. \(SupersededVersions.cancelledSendsMax) other sends of its group were cancelled within a day, which is the limit. Send the right state as an update, or end the group"
        ]
        report(part, of: cancel)
    }

    private mutating func report(_ part: ProgressRecord.PlannerPart, of cancel: Cancellation) {
        var part = part
        part.recipient = cancel.recipient
        plan.progress.append(
            ProgressRecord(
                send: cancel.send, key: key, isDryRun: false, acceptedAt: cancel.acceptedAt, writtenAt: stamp,
                part: .planner(part)))
    }

    /// Sends the earlier state again with a newer version, because phones may already show the cancelled update.
    private mutating func undo(_ cancel: Cancellation) {
        let states = row.restorableStates(from: cancel, exceptCancelledIn: row)
        guard let previous = states.first,
            ScopePhase(row).action(of: .cancelOfNewestUpdate) == .restoreState
        else { return }
        row.replacedStates = Array(states.dropFirst())
        let audience: Audience =
            if case .activity(let name) = key.subject { .activities([name]) } else { .group }
        advance(
            by: send(of: previous, insteadOf: cancel, to: audience),
            origin: previous.originalSend ?? previous.send)
    }

    /// Sends the earlier state again to one recipient of a group. If a later send to the whole group has replaced the
    /// cancelled state already, nothing is sent.
    private mutating func undo(_ cancel: Cancellation, in own: GroupRow, of recipient: Recipient) {
        let states = own.restorableStates(from: cancel, exceptCancelledIn: row)
        guard let previous = states.first, own.version > row.version,
            ScopePhase(own: own, whole: row).action(of: .cancelOfNewestUpdate) == .restoreState,
            case .user(let user) = recipient
        else { return }
        var own = own
        own.replacedStates = Array(states.dropFirst())
        let send = send(of: previous, insteadOf: cancel, to: .users([user]))
        let target = advance(
            own, of: recipient, by: send, origin: previous.originalSend ?? previous.send, version: nextVersion
        )
        add(.expansion(expansion(of: send, to: .recipients([target]))), for: lane(of: recipient))
        report(.planned, for: send, version: target.version, generation: row.generation, lanes: 1)
    }

    private func send(
        of previous: ScopeState, insteadOf cancel: Cancellation, to audience: Audience
    ) -> Send {
        var send = Send(
            id: cancel.send + DerivedSendID.undoSuffix, app: cancel.app, group: key.group, audience: audience,
            content: previous.content, priority: previous.priority, acceptedAt: cancel.acceptedAt)
        send.deadline = previous.deadline > now ? previous.deadline : nil
        send.owner = key.recipient
        return send
    }
}

extension GroupRow {
    /// Stores the cancel of a send. Each `SupersededVersions` of the group names the send for a day, because its jobs
    /// may be in flight for that long.
    ///
    /// - Returns: false if the row is full of other cancels of that day. Then the row is unchanged, because a forgotten
    ///   cancel would let the jobs of its send go on.
    mutating func storeCancel(of send: String, at stamp: Int64) -> Bool {
        let others = cancelledSends.filter {
            $0.send != send && stamp - $0.at < SupersededVersions.cancelledMilliseconds
        }
        guard others.count < SupersededVersions.cancelledSendsMax else { return false }
        cancelledSends = others + [CancelledSend(send: send, at: stamp)]
        // The list forgets the send after a day. Its state must not be restorable then.
        replacedStates.removeAll { $0.originates(from: send) }
        lastSendAt = stamp
        return true
    }
}
