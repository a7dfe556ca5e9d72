internal import Lifecycle

/// SyncGroup: the leader sends the assignment, and each member fetches its part.
extension GroupCoordinator {
    func sync(_ request: SyncGroupRequest, from token: ReplyToken) {
        guard let (group, member) = member(for: request, token) else { return }
        switch group.state {
        case .empty, .dead: refuseSync(token, .unknownMemberID)
        case .preparingRebalance: refuseSync(token, .rebalanceInProgress)
        case .completingRebalance:
            if let earlier = member.syncing { refuseSync(earlier, .rebalanceInProgress) }
            member.syncing = token
            synced(member, group)
            if group.leaderID == member.id && !group.assignmentInFlight { assign(request, group) }
        case .stable:
            member.syncing = token
            synced(member, group)
            answerSync(member, in: group)
        }
    }

    private func refuseSync(_ token: ReplyToken, _ error: ErrorCode) {
        reply(token, .sync(SyncGroupResponse(error: error)))
    }

    /// Returns the member that sent the request. Returns nil after it has answered with an error.
    private func member(for request: SyncGroupRequest, _ token: ReplyToken) -> (Group, GroupMember)? {
        switch reach(
            request.groupID, member: request.memberID, instance: request.instanceID,
            generation: request.generation)
        {
        case .failure(let refusal):
            refuseSync(token, refusal.error)
        case .success(let found):
            let agrees =
                (request.protocolType == nil || request.protocolType == found.group.protocolType)
                && (request.protocolName == nil || request.protocolName == found.group.protocolName)
            if agrees { return (found.group, found.member) }
            refuseSync(token, .inconsistentGroupProtocol)
        }
        return nil
    }

    private func synced(_ member: GroupMember, _ group: Group) {
        group.awaitedSyncs.remove(member.id)
        if group.awaitedSyncs.isEmpty { group.syncDeadline = nil }
    }

    private func assign(_ request: SyncGroupRequest, _ group: Group) {
        var assignments: [String: [UInt8]] = [:]
        for each in request.assignments { assignments[each.memberID] = each.assignment }
        var bytes = 0
        for member in group.members.values {
            member.assignment = assignments[member.id] ?? []
            bytes += member.assignment.count + member.offeredBytes
        }
        guard bytes <= settings.groupBytesMax else {
            dropAssignments(group, .unknownServerError)
            return prepareRebalance(group)
        }
        group.assignmentInFlight = true
        persist(
            [GroupRecords.group(group, assigned: true)],
            then: .assigned(group: group.id, generation: group.generation))
    }

    func answerSync(_ member: GroupMember, in group: Group) {
        guard let token = member.syncing else { return }
        member.syncing = nil
        heard(member, in: group)
        let response = SyncGroupResponse(
            protocolType: group.protocolType, protocolName: group.protocolName, assignment: member.assignment)
        reply(token, .sync(response))
    }
}
