internal import Payloads
internal import Sends
internal import Store

// Sends to a whole scope: to a group, to the owner of a private group, or to an activity without a group.
//
// Each state needs a later second than the state before, so a burst of updates runs ahead of the clock. From a limit on
// (`ScopeTimestamps`), the scope holds the newest update until the clock has come near.

extension PlanBuilder {
    mutating func update(_ send: Send) {
        guard ScopePhase(row).action(of: .update) == .sendState else { return report(.ended, for: send) }
        row.groupSendCount += 1
        supersedeHeldSend()
        if !holdIfNeeded(send) { sendUpdate(send) }
    }

    /// Holds an update whose timestamp would be ahead of the clock. Returns whether it is held.
    private mutating func holdIfNeeded(_ send: Send) -> Bool {
        let timestamp = ScopeTimestamps.next(whole: row, at: now)
        // A newer send replaces a held one. So a send with `conflate: false` is not held and may go ahead of the clock.
        guard !send.isDryRun, send.isConflatable, ScopeTimestamps.isTooFarAhead(timestamp, at: now) else {
            return false
        }
        row.lastSendAt = stamp
        row.heldSend = send
        plan.heldSend = Plan.HeldSend(key: key, at: timestamp - ScopeTimestamps.aheadSecondsMax)
        report(.held, for: send)
        return true
    }

    private mutating func sendUpdate(_ send: Send) {
        row.lastSendAt = stamp
        row.replacedStates = row.statesThatNextUpdateReplaces(exceptCancelledIn: row)
        advance(by: send)
    }

    /// Gives the scope's phones the state of an update or an END.
    ///
    /// - Parameter origin: the send that first had this state, if this send restores it.
    mutating func advance(by send: Send, origin: String? = nil) {
        let version = nextVersion
        row.advance(to: version, timestamp: ScopeTimestamps.next(whole: row, at: now))
        row.newestState = state(of: send, version: version, timestamp: row.timestamp)
        row.newestState?.originalSend = origin
        var expansion = expansion(of: send, to: targets(of: send))
        if send.content.event == .end {
            (row.endVersion, row.endStamp) = (version, stamp)
        } else {
            row.updateVersion = version
            expansion.precedingUpdates = row.updateCount
            row.updateCount += 1
        }
        let lanes = addExpansion(expansion)
        // Senders drop older jobs by this note. A private group has only one recipient, and the sender's queue drops
        // its older jobs.
        if key.recipient == nil { plan.note = SupersededVersions(row, of: key, at: stamp) }
        report(.planned, for: send, version: version, generation: row.generation, lanes: lanes)
    }

    /// Drops the send that the scope holds, because a newer send has another state for all its phones.
    mutating func supersedeHeldSend() {
        if let held = row.takeHeldSend() { report(.superseded, for: held) }
    }

    /// Plans at once the send that the whole group holds, although its timestamp is then ahead of the clock. The caller
    /// plans a newer send that cannot wait, and the held one must come before it.
    mutating func releaseHeldSend() {
        guard let held = row.takeHeldSend() else { return }
        if isExpired(held) { report(.expired, for: held) } else { sendUpdate(held) }
    }

    /// Plans the held send of a whole scope, which is due, or reports that it has expired.
    mutating func release(heldIn stored: GroupRow) throws(StoreError) {
        begin(with: stored)
        guard let send = row.takeHeldSend() else { return }
        if isExpired(send) {
            report(.expired, for: send)
        } else if !holdIfNeeded(send) {
            sendUpdate(send)
        }
        try writeRow()
    }

    /// Plans an END. An END is never held, because it is the last send of the generation, and later sends open a new
    /// one.
    mutating func end(_ send: Send) {
        guard ScopePhase(row).action(of: .end) == .endGeneration else { return report(.ended, for: send) }
        supersedeHeldSend()
        row.groupSendCount += 1
        row.replacedStates = []
        row.endDate = nil
        row.lastSendAt = stamp
        advance(by: send)
    }
}
