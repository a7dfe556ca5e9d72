internal import Payloads
internal import Sends
internal import Store

// The subscription of a lane, in which the first member of a group has appeared.

extension PlanBuilder {
    /// The step in which the end of members' lives is written, so that the subscriptions of an hour change a row once.
    private static let membersUntilStepMilliseconds: Int64 = 3_600_000

    /// Adds the lane to those that get the group's sends, and answers it. The sends that are planned later follow the
    /// answer in the lane's topic.
    mutating func subscribe(_ subscription: Subscription, in table: inout some GroupTable) throws(StoreError)
    {
        guard subscription.lane < planner.lanes else { return }
        let before = try currentRow(of: key, in: table)
        var row = before
        row.memberLanes.insert(subscription.lane)
        let steps = (stamp + GroupRow.membershipMilliseconds) / Self.membersUntilStepMilliseconds + 1
        row.membersUntil = max(row.membersUntil, steps * Self.membersUntilStepMilliseconds)
        if row != before { table.set(row, of: key) }
        answer(subscription, with: row)
    }

    /// Answers a lane with the last state of the group, if there is one to send.
    private mutating func answer(_ subscription: Subscription, with row: GroupRow) {
        guard let newest = row.newestState, newest.deadline > now,
            newest.content.event != .update || !row.hasCancelled(newest)
        else {
            plan.subscriptionAnswer = Plan.LaneAnswer(
                answer: SubscriptionAnswer(key: key, generation: row.generation, endVersion: row.endVersion),
                lane: subscription.lane)
            return
        }
        var expansion = Expansion(
            send: newest.send, key: key, targets: .group, content: newest.content.forExistingActivity,
            priority: newest.priority, generation: row.generation, version: newest.version,
            deadline: newest.deadline,
            expiration: newest.expiration, acceptedAt: newest.acceptedAt)
        expansion.answersSubscription = true
        plan.expansions.append(
            Plan.LaneExpansion(
                expansion: expansion, lanes: .only(LaneSet([subscription.lane])), isUrgent: false))
    }
}
