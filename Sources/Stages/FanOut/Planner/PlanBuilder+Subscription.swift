internal import Payloads
internal import Sends
internal import Store

// The subscription of a lane, in which the first member of a group has appeared.

extension PlanBuilder {
    /// Adds the lane to those that get the group's sends, and answers it. The sends that are planned later follow the
    /// answer in the lane's topic.
    mutating func subscribe(_ subscription: Subscription, in table: inout some GroupTable) throws(StoreError)
    {
        guard subscription.lane < planner.lanes else { return }
        let before = try currentRow(of: key, in: table)
        var row = before
        row.memberLanes.insert(subscription.lane)
        row.membersUntil = max(row.membersUntil, SubscribedGroups.membersUntil(subscribedAt: stamp))
        if row != before {
            if try updateGroupCount(for: row, changedFrom: before, in: &table) {
                table.set(row, of: key)
            } else {
                row = before
                plan.appAtSubscriptionLimit = key.app
            }
        }
        answer(subscription, with: row)
    }

    /// Updates the app's row, which counts the groups that only subscriptions have made. Returns false if the group is
    /// new and the limit is reached. The app's row then says that unknown groups may have members in any lane.
    private func updateGroupCount(
        for row: GroupRow, changedFrom before: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) -> Bool {
        guard key.isSharedGroup else { return true }
        let oldEnd = before.endIfOnlySubscribed(at: stamp)
        let newEnd = row.endIfOnlySubscribed(at: stamp)
        if oldEnd == newEnd { return true }
        let known = try table.subscribedGroups(of: key.app) ?? SubscribedGroups()
        var groups = known
        let groupCount = groups.countAfterRemovingForgotten(at: stamp)
        let isNewGroup = oldEnd == nil && newEnd != nil
        let isStored = !isNewGroup || groupCount < planner.subscribedGroupsMax
        if isStored {
            if let oldEnd { groups.remove(groupWithMembersUntil: oldEnd) }
            if let newEnd { groups.add(groupWithMembersUntil: newEnd) }
        } else {
            groups.noteUnstoredSubscription(at: stamp)
        }
        if groups != known { table.set(groups, of: key.app) }
        return isStored
    }

    /// Ends the counting of a group that only subscriptions had made, if a send has changed its row.
    ///
    /// - Parameter before: the row before the send.
    func recountSubscribedGroup(
        changedFrom before: GroupRow, in table: inout some GroupTable
    ) throws(StoreError) {
        if before.endIfOnlySubscribed(at: stamp) == nil { return }
        _ = try updateGroupCount(for: try currentRow(of: key, in: table), changedFrom: before, in: &table)
    }

    /// Answers a lane with the last state of the group, if there is one to send.
    private mutating func answer(_ subscription: Subscription, with row: GroupRow) {
        guard let newest = row.newestState, newest.deadline > now,
            newest.content.event != .update || !row.cancelledSends.contains(originOf: newest)
        else {
            let answer = SubscriptionAnswer(key: key, generation: row.generation, endVersion: row.endVersion)
            return add(.subscriptionAnswer(answer), for: .only(LaneSet([subscription.lane])))
        }
        let expansion = Expansion(
            send: newest.send, key: key, targets: .newMembers, content: newest.content.forExistingActivity,
            priority: newest.priority, generation: row.generation, version: newest.version,
            timestamp: newest.timestamp, deadline: newest.deadline,
            expiration: newest.expiration, acceptedAt: newest.acceptedAt)
        add(.expansion(expansion), for: .only(LaneSet([subscription.lane])))
    }
}

extension GroupRow {
    /// The end of the members' lives, if only subscriptions have made the row. Nil if the row is for a send, or
    /// forgotten.
    fileprivate func endIfOnlySubscribed(at stamp: Int64) -> Int64? {
        lastSendAt == 0 && membersUntil > stamp ? membersUntil : nil
    }
}
