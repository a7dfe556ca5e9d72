internal import LiveActivity
internal import Store

// Taking a send back: what waits is dropped, lanes and senders stop it, and what it had superseded comes back.

extension Planning {
    /// Behind the id of an update that was taken back: the state before it, sent again.
    static let undoSuffix = ".undo"

    mutating func carryOut(_ cancel: Cancel, in table: inout some GroupTable) throws(StoreError) {
        var row = try table.row(of: key) ?? GroupRow()
        if let held = row.held, held.id == cancel.send {
            row.held = nil
            table.set(row, of: key)
            return say(.cancelled, held)
        }
        plan.stop = Plan.Stop(send: cancel.send, key: key)
        plan.progress.append(
            Progress(
                send: cancel.send, key: key, dryRun: false, acceptedAt: cancel.acceptedAt, at: stamp,
                .verdict(Progress.PlannedPart(.stopping, lanes: planner.lanes))))
        undo(cancel, &row)
        note(row, cancelled: [cancel.send])
        if row != GroupRow() { table.set(row, of: key) }
    }

    /// Phones may show the update already; a newer version with the older state corrects them.
    private mutating func undo(_ cancel: Cancel, _ row: inout GroupRow) {
        guard let newest = row.newest, newest.send == cancel.send, newest.content.event == .update,
            let previous = row.previous, ScopeLife(row) != .ended
        else { return }
        let version = ScopeVersions.next(whole: row, at: now)
        var content = PushContent(.update)
        content.contentState = previous.content.contentState
        content.staleDate = previous.content.staleDate
        content.relevanceScore = previous.content.relevanceScore
        var send = Send(
            id: cancel.send + Self.undoSuffix, app: cancel.app, group: key.group, audience: .group,
            content: content, priority: previous.priority, acceptedAt: cancel.acceptedAt)
        send.deadline = previous.deadline > now ? previous.deadline : nil
        row.newest = state(send, row, version: version)
        row.previous = nil
        row.advance(to: version)
        var expansion = expansion(send, targets(send, row), row, version: version)
        expansion.ordinal = row.updates
        row.updates += 1
        row.lastAt = stamp
        let lanes = expand(expansion)
        say(.planned, send, version: version, generation: row.generation, lanes: lanes)
    }
}
