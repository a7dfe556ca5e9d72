internal import LiveActivity
internal import Store

// Starts: they open a life of a scope, or choose more who join one that is open. Who joins gets the newest state, not
// the one that the start came with: the match goes on.

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
        // Updates must fit with the largest attributes that any phone has.
        row.attributesBytes = max(row.attributesBytes, send.content.attributes?.count ?? 0)
    }

    /// What the scope was told last was taken back, and nothing came back: now the start says what holds, also to
    /// phones that were started before and show what was taken back.
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

    /// Of a group that is others', too: when it ends is not theirs to say.
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
    /// What one recipient was told last and alone, of a group's; nil where what the whole group was told is newer,
    /// or it was taken back. What a life of the recipient's own began with came from the group, and stays true.
    func ownState(within whole: GroupRow) -> ScopeState? {
        guard let newest, version > whole.version else { return nil }
        return newest.content.event == .update && whole.hasTakenBack(newest) ? nil : newest
    }
}

extension PushContent {
    /// A start for who joins later says what the others were told.
    mutating func say(_ state: ScopeState) {
        contentState = state.content.contentState ?? contentState
        staleDate = state.content.staleDate
        relevanceScore = state.content.relevanceScore ?? relevanceScore
    }
}
