internal import JSON
internal import Payloads
internal import Schedules
internal import Sends
internal import Store

// Starts. They open a generation of a scope, or add recipients to an open one. A recipient that joins gets the newest
// state and not the state of the start, because the match has continued.

extension PlanBuilder {
    mutating func start(_ send: Send) throws(StoreError) {
        var send = send
        if ScopePhase(row).action(of: .start) == .joinGeneration {
            join(&send)
        } else {
            supersedeHeldSend()
            openGeneration(by: send)
        }
        row.lastSendAt = stamp
        if let users = namedUsers(of: send) { return try planForUsers(users, with: send) }
        // The audience may have recipients in any lane.
        row.memberLanes = .every
        let lanes = addExpansion(expansion(of: send, to: targets(of: send)))
        report(.planned, for: send, version: row.version, generation: row.generation, lanes: lanes)
    }

    private mutating func openGeneration(by send: Send) {
        row.endDate = send.endDate
        row.advance(to: nextVersion, timestamp: ScopeTimestamps.next(whole: row, at: now))
        row.generation = row.version
        row.openedAt = send.acceptedAt
        row.newestState = state(of: send, version: row.version, timestamp: row.timestamp)
        row.replacedStates = []
        row.attributesType = send.content.attributesType
        row.attributesBytes = send.content.attributes?.count ?? 0
        row.updateCount = 0
        row.groupSendCount += 1
        if let endDate = send.endDate { scheduleAutomaticEnd(at: endDate) }
    }

    private mutating func join(_ send: inout Send) {
        // A start for named users does not decide when the group ends.
        if namedUsers(of: send) == nil, let endDate = send.endDate {
            row.endDate = endDate
            scheduleAutomaticEnd(at: endDate)
        }
        // If the newest state is cancelled, the state of this start replaces it (below). An update that the scope holds
        // was sent before this start, so it goes first. Otherwise it would later replace the newer state of this start.
        if cancelledNewestState != nil { releaseHeldSend() }
        if let cancelled = cancelledNewestState { replace(cancelled, by: send) }
        if let newest = row.newestState { send.content.replaceState(with: newest) }
        // Only a lane knows the recipients that an END by an activity's name has ended. The place of this start in the
        // order is their new generation.
        row.highestVersion = nextVersion
        // Updates must fit together with the largest attributes on any phone.
        row.attributesBytes = max(row.attributesBytes, send.content.attributes?.count ?? 0)
    }

    private var cancelledNewestState: ScopeState? {
        row.newestState.flatMap { row.cancelledSends.contains(originOf: $0) ? $0 : nil }
    }

    /// Replaces a cancelled last state that has no earlier state to return to. The state of this start applies now,
    /// also on phones that show the cancelled state.
    private mutating func replace(_ state: ScopeState, by start: Send) {
        var send = Send(
            id: state.send + DerivedSendID.undoSuffix, app: start.app, group: key.group, audience: .group,
            content: start.content.forExistingActivity, priority: start.priority, acceptedAt: start.acceptedAt
        )
        send.owner = key.recipient
        row.replacedStates = []
        advance(by: send, origin: start.id)
    }

    private mutating func scheduleAutomaticEnd(at endDate: Int64) {
        plan.autoEnd = key.group.map {
            AutomaticEnd(
                app: key.app, group: $0, owner: key.recipient, generation: row.generation, endsAt: endDate)
        }
    }
}
