internal import Payloads
internal import Sends
internal import Store

// Sends to a whole scope: to a group, to the owner of a private group, or to an activity without a group.
//
// Each state needs a later second than the state before, so a burst of updates runs ahead of the clock. From a limit on
// (`ScopeTimestamps`), the scope holds the newest update until the clock has come near.

extension PlanBuilder {
    mutating func update(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) {
        guard ScopePhase(row).action(of: .update) == .sendState else { return report(.ended, for: send) }
        var row = row
        row.groupSendCount += 1
        supersedeHeldSend(of: &row)
        holdOrAdvance(send, row: &row, mayWait: !send.isDryRun, in: &table)
    }

    private mutating func holdOrAdvance(
        _ send: Send, row: inout GroupRow, mayWait: Bool, in table: inout some GroupTable
    ) {
        let timestamp = ScopeTimestamps.next(whole: row, at: now)
        row.lastSendAt = stamp
        // A newer send replaces a held one. So a send with `conflate: false` is not held and may go ahead of the clock.
        if mayWait, send.isConflatable, ScopeTimestamps.isTooFarAhead(timestamp, at: now) {
            row.heldSend = send
            table.set(row, of: key)
            plan.heldSend = Plan.HeldSend(key: key, at: timestamp - ScopeTimestamps.aheadSecondsMax)
            return report(.held, for: send)
        }
        row.replacedStates = row.statesThatNextUpdateReplaces(exceptCancelledIn: row)
        advance(&row, by: send, in: &table)
    }

    /// Gives the scope's phones the state of an update or an END.
    ///
    /// - Parameter origin: the send that first had this state, if this send restores it.
    mutating func advance(
        _ row: inout GroupRow, by send: Send, origin: String? = nil, in table: inout some GroupTable
    ) {
        let version = nextVersion(in: row)
        row.advance(to: version, timestamp: ScopeTimestamps.next(whole: row, at: now))
        row.newestState = state(of: send, in: row, version: version, timestamp: row.timestamp)
        row.newestState?.originalSend = origin
        var expansion = expansion(
            send, to: targets(of: send, in: row), as: row, version: version, timestamp: row.timestamp)
        if send.content.event == .end {
            (row.endVersion, row.endStamp) = (version, stamp)
        } else {
            row.updateVersion = version
            expansion.precedingUpdates = row.updateCount
            row.updateCount += 1
        }
        table.set(row, of: key)
        let lanes = addExpansion(expansion, of: row)
        noteSuperseded(by: row)
        report(.planned, for: send, version: version, generation: row.generation, lanes: lanes)
    }

    /// Drops the send that the scope holds, because a newer send has another state for all its phones.
    mutating func supersedeHeldSend(of row: inout GroupRow) {
        if let held = row.heldSend { report(.superseded, for: held) }
        row.heldSend = nil
    }

    /// Plans at once the send that the whole group holds, although its timestamp is then ahead of the clock. The caller
    /// plans a newer send that cannot wait, and the held one must come before it.
    mutating func releaseHeldSend(of row: inout GroupRow, in table: inout some GroupTable) {
        guard let held = row.heldSend else { return }
        row.heldSend = nil
        if isExpired(held) { return report(.expired, for: held) }
        holdOrAdvance(held, row: &row, mayWait: false, in: &table)
    }

    /// Plans an END. An END is never held, because it is the last send of the generation, and later sends
    /// open a new one.
    mutating func end(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) {
        guard ScopePhase(row).action(of: .end) == .endGeneration else { return report(.ended, for: send) }
        var row = row
        supersedeHeldSend(of: &row)
        row.groupSendCount += 1
        row.replacedStates = []
        row.endDate = nil
        row.lastSendAt = stamp
        advance(&row, by: send, in: &table)
    }

    /// Plans a held send that is due, or reports that it has expired.
    mutating func release(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) throws(StoreError) {
        var row = row
        row.heldSend = nil
        // An update to one recipient of a shared group. (A send to a private group has a recipient in its key, too, but
        // it names the owner.)
        if key.recipient != nil, send.owner == nil {
            return try releaseSendOfRecipient(send, row, in: &table)
        }
        if isExpired(send) {
            table.set(row, of: key)
            return report(.expired, for: send)
        }
        holdOrAdvance(send, row: &row, mayWait: true, in: &table)
    }

    private mutating func releaseSendOfRecipient(
        _ send: Send, _ row: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        let recipientKey = key
        key = key.wholeGroup
        let whole = try currentRow(of: key, in: table)
        // A newer send to the whole group replaces this one.
        let isReplaced = whole.groupSendCount != row.groupSendCountWhenHeld
        // The group still holds an older send, which goes first. So this send waits another second.
        if whole.heldSend != nil, !isReplaced {
            plan.heldSend = Plan.HeldSend(key: recipientKey, at: now + 1)
            return
        }
        table.set(row, of: recipientKey)
        if isExpired(send) { return report(.expired, for: send) }
        if isReplaced { return report(.superseded, for: send) }
        try apply(send, to: whole, in: &table)
    }
}

extension GroupRow {
    /// Sets the newest version and timestamp of the whole scope.
    mutating func advance(to version: Int64, timestamp: Int64) {
        (self.version, highestVersion) = (version, version)
        (self.timestamp, highestTimestamp) = (timestamp, timestamp)
    }

    /// Whether the group ended after the send was scheduled. False for a send that was not scheduled.
    func hasEnded(since scheduledAt: Int64?) -> Bool { scheduledAt.map { endStamp > $0 } ?? false }
}
