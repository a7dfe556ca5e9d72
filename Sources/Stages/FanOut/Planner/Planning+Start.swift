internal import LiveActivity
internal import Store

// Starts. They open a generation of a scope, or add recipients to an open one. A recipient that joins gets
// the newest state and not the state of the start, because the match has continued.

extension Planning {
    mutating func start(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) throws(StoreError) {
        var (send, row) = (send, row)
        if ScopeLife(row) == .open {
            join(&send, &row, in: &table)
        } else {
            open(&row, by: send)
        }
        row.lastAt = stamp
        table.set(row, of: key)
        if case .users(let users) = send.audience, namesUsers(send) {
            return try address(users, with: send, row, in: &table)
        }
        let lanes = expand(expansion(send, to: targets(send, row), as: row, version: row.version))
        say(.planned, send, version: row.version, generation: row.generation, lanes: lanes)
    }

    private mutating func open(_ row: inout GroupRow, by send: Send) {
        row.endDate = send.endDate
        row.open(ScopeVersions.next(whole: row, at: now))
        row.openedAt = send.acceptedAt
        row.newest = state(send, row, version: row.version)
        row.previous = []
        row.attributesType = send.content.attributesType
        row.attributesBytes = send.content.attributes?.count ?? 0
        row.updates = 0
        row.words += 1
        if let endDate = send.endDate { endByItself(at: endDate, row) }
    }

    private mutating func join(_ send: inout Send, _ row: inout GroupRow, in table: inout some GroupTable) {
        if !namesUsers(send), let endDate = send.endDate {
            row.endDate = endDate
            endByItself(at: endDate, row)
        }
        if let newest = row.newest, row.hasTakenBack(newest) {
            replace(newest, by: send, &row, in: &table)
        }
        if let newest = row.newest { send.content.say(newest) }
        // Updates must fit together with the largest attributes on any phone.
        row.attributesBytes = max(row.attributesBytes, send.content.attributes?.count ?? 0)
    }

    /// Replaces a cancelled last state that has no earlier state to return to. The state of this start
    /// applies now, also on phones that show the cancelled state.
    private mutating func replace(
        _ state: ScopeState, by start: Send, _ row: inout GroupRow, in table: inout some GroupTable
    ) {
        var send = Send(
            id: state.send + Self.undoSuffix, app: start.app, group: key.group, audience: .group,
            content: start.content.saidToWhatIsThere, priority: start.priority, acceptedAt: start.acceptedAt)
        send.owner = key.recipient
        row.previous = []
        advance(
            &row, to: ScopeVersions.next(whole: row, at: now), by: send, origin: start.id, in: &table)
    }

    /// Whether the send names users of a shared group. Such a send does not decide when the group ends.
    private func namesUsers(_ send: Send) -> Bool {
        if case .users = send.audience { key.recipient == nil } else { false }
    }

    private mutating func endByItself(at endDate: Int64, _ row: GroupRow) {
        plan.autoEnd = key.group.map {
            EndSchedule(
                app: key.app, group: $0, owner: key.recipient, generation: row.generation, at: endDate)
        }
    }
}

extension GroupRow {
    /// Returns the recipient's last own state. Nil if the group has a newer state or the state was cancelled.
    /// The first state of a recipient's own generation came from the group and stays valid.
    func ownState(within whole: GroupRow) -> ScopeState? {
        guard let newest, version > whole.version else { return nil }
        return newest.content.event == .update && whole.hasTakenBack(newest) ? nil : newest
    }
}

extension PushContent {
    /// Replaces the content's state, so that a recipient that starts later shows the same as the others.
    mutating func say(_ state: ScopeState) {
        contentState = state.content.contentState ?? contentState
        staleDate = state.content.staleDate
        relevanceScore = state.content.relevanceScore ?? relevanceScore
    }
}
