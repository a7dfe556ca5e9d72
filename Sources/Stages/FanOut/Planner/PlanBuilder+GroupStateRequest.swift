internal import Payloads
internal import Sends
internal import Store

extension PlanBuilder {
    /// Answers a lane with the last state of the group. Later sends go to this lane as to all others.
    mutating func answer(_ enquiry: GroupStateRequest, in table: some GroupTable) throws(StoreError) {
        guard enquiry.lane < planner.lanes else { return }
        let row = try currentRow(of: key, in: table)
        guard let newest = row.newestState, newest.deadline > now,
            newest.content.event != .update || !row.hasCancelled(newest)
        else { return }
        var expansion = Expansion(
            send: newest.send, key: key, targets: .group, content: newest.content.forExistingActivity,
            priority: newest.priority, generation: row.generation, version: newest.version,
            deadline: newest.deadline,
            expiration: newest.expiration, acceptedAt: newest.acceptedAt)
        expansion.answersStateRequest = true
        plan.expansions.append(Plan.LaneExpansion(expansion: expansion, lane: enquiry.lane, isUrgent: false))
    }
}
