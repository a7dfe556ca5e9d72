internal import Lifecycle

/// The deadlines of a group: sessions of members, member ids that no client uses, and the two phases of a
/// rebalance.
extension GroupCoordinator {
    /// Handles all deadlines of the group that have passed.
    func expireDeadlines(of group: Group) {
        let expiredIDs = group.pendingMemberIDs.filter { $0.value <= now.steady }
        for id in expiredIDs.keys { group.pendingMemberIDs[id] = nil }
        if !expiredIDs.isEmpty { completeJoinIfReady(of: group) }
        for member in group.membersInOrder {
            // Checked one by one, because an earlier removal may have begun a generation and extended this
            // member's session.
            let isExpired = member.sessionDeadline <= now.steady && !member.isWaiting
            if isExpired, group.members[member.id] === member { remove(member, from: group) }
        }
        if let deadline = group.joinDeadline, deadline <= now.steady, group.state == .preparingRebalance {
            handleJoinTimeout(of: group)
        }
        if let deadline = group.syncDeadline, deadline <= now.steady { handleSyncTimeout(of: group) }
        removeIfUnused(group)
    }

    /// Removes the members that did not ask for their assignment, and begins another generation.
    private func handleSyncTimeout(of group: Group) {
        group.syncDeadline = nil
        guard group.state == .completingRebalance || group.state == .stable else { return }
        for member in group.membersInOrder where group.awaitedSyncs.contains(member.id) {
            group.remove(member)
        }
        prepareRebalance(of: group)
        completeJoinIfReady(of: group)
    }

    /// Forgets an unused group that has no record in the log. The first generation of a group brings its first record.
    func removeIfUnused(_ group: Group) {
        guard group.isUnused, group.generation == 0, group.appendsInFlight == 0 else { return }
        groups[group.id] = nil
        deadlines.remove(group.id)
    }

    /// Schedules the group's earliest deadline.
    func scheduleNextDeadline(of group: Group) {
        var earliest = min(group.joinDeadline ?? .distantFuture, group.syncDeadline ?? .distantFuture)
        for deadline in group.pendingMemberIDs.values { earliest = min(earliest, deadline) }
        for member in group.members.values where !member.isWaiting {
            earliest = min(earliest, member.sessionDeadline)
        }
        if earliest < .distantFuture { deadlines.schedule(group.id, at: earliest) }
    }
}
