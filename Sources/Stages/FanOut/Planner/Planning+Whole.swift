internal import LiveActivity
internal import Store

// Sends to a whole scope: to a group, to the owner of a private group, or to an activity without a group.

extension Planning {
    mutating func update(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) {
        if ScopeLife(row) == .ended { return say(.ended, send) }
        var row = row
        row.words += 1
        // The newest send wins, also among held sends.
        if let older = row.held { say(.superseded, older) }
        row.held = nil
        place(send, &row, mayWait: !send.dryRun, in: &table)
    }

    private mutating func place(
        _ send: Send, _ row: inout GroupRow, mayWait: Bool, in table: inout some GroupTable
    ) {
        let version = ScopeVersions.next(whole: row, at: now)
        row.lastAt = stamp
        // A newer send replaces a held one. So a send with `conflate: false` is not held and may go ahead of
        // the clock.
        if mayWait, send.conflate, ScopeVersions.isTooFarAhead(version, at: now) {
            row.held = send
            table.set(row, of: key)
            plan.held = Plan.Held(key: key, at: version - ScopeVersions.aheadMax)
            return say(.held, send)
        }
        row.previous = row.replacedStates(within: row)
        advance(&row, to: version, by: send, in: &table)
    }

    /// Gives the scope's phones a new state.
    ///
    /// - Parameter origin: the send that first had this state, if this send restores it.
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

    /// Releases the send that the whole group holds, ahead of the clock. The next send came later, cannot
    /// wait, and must not be overtaken by the held one.
    mutating func letHeldGo(_ row: inout GroupRow, in table: inout some GroupTable) {
        guard let held = row.held else { return }
        row.held = nil
        if isExpired(held) { return say(.expired, held) }
        place(held, &row, mayWait: false, in: &table)
    }

    /// Plans an END. An END is never held, because it is the last send of the generation, and later sends
    /// open a new one.
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

    /// Plans a held send that is due, or reports that it has expired.
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
        // It came after the send that the whole group holds.
        if whole.held != nil, whole.words == row.heldAfter {
            plan.held = Plan.Held(key: own, at: now + 1)
            return
        }
        table.set(row, of: own)
        if isExpired(send) { return say(.expired, send) }
        if whole.words != row.heldAfter { return say(.superseded, send) }
        try carryOut(send, whole, in: &table)
    }

    /// Whether the scope is one recipient within a shared group.
    private func isOwn(_ send: Send) -> Bool { key.recipient != nil && send.owner == nil }
}

extension GroupRow {
    /// Begins a new generation.
    mutating func open(_ version: Int64) {
        generation = version
        advance(to: version)
    }

    /// Sets the newest version of the whole scope.
    mutating func advance(to version: Int64) {
        self.version = version
        floor = version
        highest = version
    }

    /// Whether the group ended after the send was scheduled. False for a send that was not scheduled.
    func hasEnded(since scheduledAt: Int64?) -> Bool { scheduledAt.map { endedTime > $0 } ?? false }
}

extension Expansion.Targets {
    /// The targets of an audience that is not a list of users.
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
