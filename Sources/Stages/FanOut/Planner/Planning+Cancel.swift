internal import LiveActivity
internal import Store

// The cancel of a send. A held send is dropped, lanes and senders stop the send, and the state that it had
// superseded returns.

extension Planning {
    /// The suffix of the send id under which the earlier state is sent again after a cancel.
    static let undoSuffix = ".undo"

    mutating func carryOut(_ cancel: Cancel, in table: inout some GroupTable) throws(StoreError) {
        var row = try known(key, in: table)
        if drop(cancel, &row, of: key, in: &table) { return }
        var own: GroupRow?
        if let recipient = cancel.recipient, key.recipient == nil {
            var found = try known(key.of(recipient), in: table)
            if drop(cancel, &found, of: key.of(recipient), in: &table) { return }
            own = found
        }
        plan.stop = Stop(send: cancel.send, key: key)
        var part = Progress.PlannedPart(.stopping, lanes: key.recipient == nil ? planner.lanes : 1)
        part.recipient = cancel.recipient
        plan.progress.append(
            Progress(
                send: cancel.send, key: key, dryRun: false, acceptedAt: cancel.acceptedAt, at: stamp,
                .verdict(part)))
        remember(cancel, in: &row)
        table.set(row, of: key)
        if let recipient = cancel.recipient, let own {
            undo(cancel, in: own, of: recipient, within: row, in: &table)
        } else {
            undo(cancel, &row, in: &table)
        }
        plan.note = SupersededNote(row, of: key, at: stamp)
    }

    /// Whether the row still held the send, which is then dropped.
    private mutating func drop(
        _ cancel: Cancel, _ row: inout GroupRow, of key: GroupKey, in table: inout some GroupTable
    ) -> Bool {
        guard let held = row.held, held.id == cancel.send else { return false }
        row.held = nil
        table.set(row, of: key)
        say(.cancelled, held)
        return true
    }

    /// Stores the cancel in the row. Every note of the group names the send for as long as its jobs may be in
    /// flight.
    private func remember(_ cancel: Cancel, in row: inout GroupRow) {
        row.cancelled.removeAll {
            $0.send == cancel.send || stamp - $0.at >= SupersededNote.cancelledMilliseconds
        }
        let over = row.cancelled.count + 1 - SupersededNote.cancelledMax
        if over > 0 { row.cancelled.removeFirst(over) }
        row.cancelled.append(GroupRow.Cancelled(send: cancel.send, at: stamp))
        // The list above forgets the name later. The state must not be restorable then.
        row.previous.removeAll { $0.comes(from: cancel.send) }
        row.lastAt = stamp
    }

    /// Sends the earlier state again with a newer version, because phones may already show the cancelled
    /// update.
    private mutating func undo(_ cancel: Cancel, _ row: inout GroupRow, in table: inout some GroupTable) {
        let states = row.restorableStates(from: cancel, within: row)
        guard let previous = states.first, ScopeLife(row) != .ended else { return }
        row.previous = Array(states.dropFirst())
        let audience: Audience =
            if case .activity(let name) = key.subject { .activities([name]) } else { .group }
        advance(
            &row, to: ScopeVersions.next(whole: row, at: now), by: restoring(previous, cancel, for: audience),
            origin: previous.origin ?? previous.send, in: &table)
    }

    /// Does the same for a send to one recipient of a group. A later send to the whole group has already
    /// corrected the state.
    private mutating func undo(
        _ cancel: Cancel, in own: GroupRow, of recipient: Recipient, within whole: GroupRow,
        in table: inout some GroupTable
    ) {
        let states = own.restorableStates(from: cancel, within: whole)
        guard let previous = states.first, own.version > whole.version,
            ScopeLife(own: own, whole: whole) != .ended, case .user(let user) = recipient
        else { return }
        var (own, whole) = (own, whole)
        let send = restoring(previous, cancel, for: .users([user]))
        let version = ScopeVersions.next(own: own, whole: whole, at: now)
        own.previous = Array(states.dropFirst())
        own.newest = state(send, whole, version: version)
        own.newest?.origin = previous.origin ?? previous.send
        own.version = version
        own.updates += 1
        own.lastAt = stamp
        whole.highest = max(whole.highest, version)
        table.set(own, of: key.of(recipient))
        table.set(whole, of: key)
        let generation = max(own.generation, whole.generation)
        let target = Expansion.ScopedRecipient(
            recipient, scope: .recipient, generation: generation, version: version)
        plan.parts.append(
            Plan.Part(
                expansion: expansion(send, to: .recipients([target]), as: whole, version: whole.version),
                lane: planner.lane(of: recipient, app: key.app), isUrgent: true))
        say(.planned, send, version: version, generation: whole.generation, lanes: 1)
    }

    private func restoring(_ previous: ScopeState, _ cancel: Cancel, for audience: Audience) -> Send {
        var send = Send(
            id: cancel.send + Self.undoSuffix, app: cancel.app, group: key.group, audience: audience,
            content: previous.content, priority: previous.priority, acceptedAt: cancel.acceptedAt)
        send.deadline = previous.deadline > now ? previous.deadline : nil
        send.owner = key.recipient
        return send
    }
}
