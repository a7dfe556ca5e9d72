internal import Identifiers
internal import Sends
internal import Store

// The cancel of a send. A held send is dropped, lanes and senders stop the send, and the state that it had
// superseded returns.

extension PlanBuilder {
    /// The suffix of the send id under which the earlier state is sent again after a cancel.
    static let undoSuffix = DerivedSendID.undoSuffix

    mutating func apply(_ cancel: Cancellation, in table: inout some GroupTable) throws(StoreError) {
        var row = try currentRow(of: key, in: table)
        if dropHeldSend(of: cancel, from: &row, key: key, in: &table) { return }
        var own: GroupRow?
        if let recipient = cancel.recipient, key.recipient == nil {
            var found = try currentRow(of: key.narrowed(to: recipient), in: table)
            if dropHeldSend(of: cancel, from: &found, key: key.narrowed(to: recipient), in: &table) { return }
            own = found
        }
        guard row.storeCancel(of: cancel.send, at: stamp) else { return refuse(cancel) }
        let lanes = lanes(of: row)
        add(.stop(StopInstruction(send: cancel.send, key: key)), for: lanes)
        let part = ProgressRecord.PlannerPart(.stopping, laneCount: lanes.count(of: planner.lanes))
        report(part, of: cancel)
        table.set(row, of: key)
        if let recipient = cancel.recipient, let own {
            undoForRecipient(cancel, in: own, of: recipient, within: row, in: &table)
        } else {
            undo(cancel, &row, in: &table)
        }
        plan.note = SupersededVersions(row, of: key, at: stamp)
    }

    /// Drops the cancelled send if the row still holds it. Returns whether the row has held it.
    private mutating func dropHeldSend(
        of cancel: Cancellation, from row: inout GroupRow, key: ScopeKey, in table: inout some GroupTable
    ) -> Bool {
        guard let held = row.heldSend, held.id == cancel.send else { return false }
        row.heldSend = nil
        table.set(row, of: key)
        report(.cancelled, for: held)
        return true
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
    private mutating func undo(_ cancel: Cancellation, _ row: inout GroupRow, in table: inout some GroupTable)
    {
        let states = row.restorableStates(from: cancel, exceptCancelledIn: row)
        guard let previous = states.first,
            ScopePhase(row).after(.cancelOfNewestUpdate).action == .restoreState
        else { return }
        row.replacedStates = Array(states.dropFirst())
        let audience: Audience =
            if case .activity(let name) = key.subject { .activities([name]) } else { .group }
        advance(
            &row, by: restoring(previous, cancel, for: audience),
            origin: previous.originalSend ?? previous.send, in: &table)
    }

    /// Sends the earlier state again to one recipient of a group. If a later send to the whole group has replaced the
    /// cancelled state already, nothing is sent.
    private mutating func undoForRecipient(
        _ cancel: Cancellation, in own: GroupRow, of recipient: Recipient, within whole: GroupRow,
        in table: inout some GroupTable
    ) {
        let states = own.restorableStates(from: cancel, exceptCancelledIn: whole)
        guard let previous = states.first, own.version > whole.version,
            ScopePhase(own: own, whole: whole).after(.cancelOfNewestUpdate).action == .restoreState,
            case .user(let user) = recipient
        else { return }
        var (own, whole) = (own, whole)
        let send = restoring(previous, cancel, for: .users([user]))
        own.replacedStates = Array(states.dropFirst())
        let target = advance(
            own, of: recipient, by: send, origin: previous.originalSend ?? previous.send,
            version: nextVersion(in: whole), within: &whole, in: &table)
        table.set(whole, of: key)
        let expansion = expansion(
            send, to: .recipients([target]), as: whole, version: whole.version, timestamp: whole.timestamp)
        add(.expansion(expansion), for: lane(of: recipient))
        report(.planned, for: send, version: target.version, generation: whole.generation, lanes: 1)
    }

    private func restoring(_ previous: ScopeState, _ cancel: Cancellation, for audience: Audience) -> Send {
        var send = Send(
            id: cancel.send + Self.undoSuffix, app: cancel.app, group: key.group, audience: audience,
            content: previous.content, priority: previous.priority, acceptedAt: cancel.acceptedAt)
        send.deadline = previous.deadline > now ? previous.deadline : nil
        send.owner = key.recipient
        return send
    }
}
