internal import LiveActivity
internal import Store

// Sends to a whole scope: a group's, or that of a private group's owner, or an activity's without a group.

extension Planning {
    mutating func update(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) {
        if ScopeLife(row) == .ended { return say(.ended, send) }
        var row = row
        row.words += 1
        // The newest wins, also among those that wait.
        if let older = row.held { say(.superseded, older) }
        row.held = nil
        place(send, &row, mayWait: !send.dryRun, in: &table)
    }

    private mutating func place(
        _ send: Send, _ row: inout GroupRow, mayWait: Bool, in table: inout some GroupTable
    ) {
        let version = ScopeVersions.next(whole: row, at: now)
        row.lastAt = stamp
        // Among those that wait the newest takes the others' place: one that must not lose its own goes ahead of the clock.
        if mayWait, send.conflate, ScopeVersions.isTooFarAhead(version, at: now) {
            row.held = send
            table.set(row, of: key)
            plan.held = Plan.Held(key: key, at: version - ScopeVersions.aheadMax)
            return say(.held, send)
        }
        row.previous = row.replacedStates(within: row)
        advance(&row, to: version, by: send, in: &table)
    }

    /// The scope's phones get another state.
    ///
    /// - Parameter origin: the send that said it first, where this one brings it back.
    mutating func advance(
        _ row: inout GroupRow, to version: Int64, by send: Send, origin: String? = nil,
        in table: inout some GroupTable
    ) {
        row.newest = state(send, row, version: version)
        row.newest?.origin = origin
        row.advance(to: version)
        row.updatedAt = version
        var expansion = expansion(send, to: targets(send, row), as: row, version: version)
        expansion.ordinal = row.updates
        row.updates += 1
        table.set(row, of: key)
        let lanes = expand(expansion)
        note(row)
        say(.planned, send, version: version, generation: row.generation, lanes: lanes)
    }

    /// What the whole group holds goes at once, ahead of the clock: what is planned next came after it, cannot
    /// wait, and must not be overtaken by it.
    mutating func letHeldGo(_ row: inout GroupRow, in table: inout some GroupTable) {
        guard let held = row.held else { return }
        row.held = nil
        if isExpired(held) { return say(.expired, held) }
        place(held, &row, mayWait: false, in: &table)
    }

    /// An end is never held: it is the last word, and what comes behind it opens a new life.
    mutating func end(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) {
        if ScopeLife(row) == .ended { return say(.ended, send) }
        var row = row
        if let older = row.held { say(.superseded, older) }
        row.held = nil
        row.words += 1
        let version = ScopeVersions.next(whole: row, at: now)
        row.newest = state(send, row, version: version)
        row.previous = []
        row.advance(to: version)
        let expansion = expansion(send, to: targets(send, row), as: row, version: version)
        row.endedAt = version
        row.endedTime = stamp
        row.endDate = nil
        row.lastAt = stamp
        table.set(row, of: key)
        let lanes = expand(expansion)
        note(row)
        say(.planned, send, version: version, generation: row.generation, lanes: lanes)
    }

    /// The held send's time has come, or it is out of date.
    mutating func release(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) throws(StoreError) {
        var row = row
        row.held = nil
        if isOwn(send) { return try release(own: send, row, in: &table) }
        if isExpired(send) {
            table.set(row, of: key)
            return say(.expired, send)
        }
        place(send, &row, mayWait: true, in: &table)
    }

    private mutating func release(
        own send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        let own = key
        key = key.whole
        let whole = try known(key, in: table)
        // It came behind what the whole group waits for.
        if whole.held != nil, whole.words == row.heldAfter {
            plan.held = Plan.Held(key: own, at: now + 1)
            return
        }
        table.set(row, of: own)
        if isExpired(send) { return say(.expired, send) }
        if whole.words != row.heldAfter { return say(.superseded, send) }
        try carryOut(send, whole, in: &table)
    }

    /// Whether the scope is one recipient's within a group that is others', too.
    private func isOwn(_ send: Send) -> Bool { key.recipient != nil && send.owner == nil }
}

extension GroupRow {
    /// A new life begins.
    mutating func open(_ version: Int64) {
        generation = version
        advance(to: version)
    }

    /// The whole scope has a new newest version.
    mutating func advance(to version: Int64) {
        self.version = version
        floor = version
        highest = version
    }

    /// Of what was scheduled then; never for what was not.
    func hasEnded(since scheduledAt: Int64?) -> Bool { scheduledAt.map { endedTime > $0 } ?? false }
}

extension Expansion.Targets {
    /// Of an audience that is no list of users.
    init(_ audience: Audience) {
        switch audience {
        case .everyone: self = .everyone
        case .segments(let names): self = .segments(names)
        case .tags(let names): self = .tags(names)
        case .group: self = .group
        case .activities(let names): self = .activities(names)
        case .users: preconditionFailure("users are split by their lanes")
        }
    }
}
