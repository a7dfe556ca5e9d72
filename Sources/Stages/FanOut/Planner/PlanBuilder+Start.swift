internal import JSON
internal import Payloads
internal import Schedules
internal import Sends
internal import Store

// Starts. They open a generation of a scope, or add recipients to an open one. A recipient that joins gets
// the newest state and not the state of the start, because the match has continued.

extension PlanBuilder {
    mutating func start(_ send: Send, _ row: GroupRow, in table: inout some GroupTable) throws(StoreError) {
        var (send, row) = (send, row)
        if ScopePhase(row).action(of: .start) == .joinGeneration {
            join(&send, &row, in: &table)
        } else {
            supersedeHeldSend(of: &row)
            open(&row, by: send)
        }
        row.lastSendAt = stamp
        if case .users(let users) = send.audience, namesUsers(send) {
            table.set(row, of: key)
            return try planForUsers(users, with: send, row, in: &table)
        }
        // The audience may have recipients in any lane.
        row.memberLanes = .every
        table.set(row, of: key)
        let lanes = addExpansion(
            expansion(
                send, to: targets(of: send, in: row), as: row, version: row.version,
                timestamp: row.timestamp), of: row)
        report(.planned, for: send, version: row.version, generation: row.generation, lanes: lanes)
    }

    private mutating func open(_ row: inout GroupRow, by send: Send) {
        row.endDate = send.endDate
        row.advance(to: nextVersion(in: row), timestamp: ScopeTimestamps.next(whole: row, at: now))
        row.generation = row.version
        row.openedAt = send.acceptedAt
        row.newestState = state(of: send, in: row, version: row.version, timestamp: row.timestamp)
        row.replacedStates = []
        row.attributesType = send.content.attributesType
        row.attributesBytes = send.content.attributes?.count ?? 0
        row.updateCount = 0
        row.groupSendCount += 1
        if let endDate = send.endDate { scheduleAutomaticEnd(at: endDate, of: row) }
    }

    private mutating func join(_ send: inout Send, _ row: inout GroupRow, in table: inout some GroupTable) {
        if !namesUsers(send), let endDate = send.endDate {
            row.endDate = endDate
            scheduleAutomaticEnd(at: endDate, of: row)
        }
        // If the newest state is cancelled, the state of this start replaces it (below). An update that the scope holds
        // was sent before this start, so it goes first. Otherwise it would later replace the newer state of this start.
        if let newest = row.newestState, row.cancelledSends.contains(originOf: newest) {
            releaseHeldSend(of: &row, in: &table)
        }
        if let newest = row.newestState, row.cancelledSends.contains(originOf: newest) {
            replace(newest, by: send, &row, in: &table)
        }
        if let newest = row.newestState { send.content.replaceState(with: newest) }
        // Only a lane knows the recipients that an END by an activity's name has ended. The place of this start in the
        // order is their new generation.
        row.highestVersion = nextVersion(in: row)
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
            content: start.content.forExistingActivity, priority: start.priority, acceptedAt: start.acceptedAt
        )
        send.owner = key.recipient
        row.replacedStates = []
        advance(&row, by: send, origin: start.id, in: &table)
    }

    /// Whether the send names users of a shared group. Such a send does not decide when the group ends.
    private func namesUsers(_ send: Send) -> Bool {
        if case .users = send.audience { key.recipient == nil } else { false }
    }

    private mutating func scheduleAutomaticEnd(at endDate: Int64, of row: GroupRow) {
        plan.autoEnd = key.group.map {
            AutomaticEnd(
                app: key.app, group: $0, owner: key.recipient, generation: row.generation, endsAt: endDate)
        }
    }
}

extension GroupRow {
    /// Returns the recipient's last own state. Nil if the group has a newer state or the state was cancelled.
    /// The first state of a recipient's own generation came from the group and stays valid.
    func ownState(within whole: GroupRow) -> ScopeState? {
        guard let newestState, version > whole.version else { return nil }
        return newestState.content.event == .update && whole.cancelledSends.contains(originOf: newestState)
            ? nil : newestState
    }
}
