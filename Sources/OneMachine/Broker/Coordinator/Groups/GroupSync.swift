internal import Lifecycle

/// SyncGroup: the leader sends the assignment, and each member fetches its part.
extension GroupCoordinator {
    func sync(_ request: SyncGroupRequest, from token: ReplyToken) {
        guard let (group, member) = member(for: request, token: token) else { return }
        switch group.state {
        case .empty, .dead: refuseSync(of: token, error: .unknownMemberID)
        case .preparingRebalance: refuseSync(of: token, error: .rebalanceInProgress)
        case .completingRebalance:
            if let earlier = member.syncing { refuseSync(of: earlier, error: .rebalanceInProgress) }
            member.syncing = token
            markSynced(member, in: group)
            if group.leaderID == member.id && !group.assignmentInFlight { assign(request, to: group) }
        case .stable:
            member.syncing = token
            markSynced(member, in: group)
            answerSync(member, in: group)
        }
    }

    private func refuseSync(of token: ReplyToken, error: ErrorCode) {
        reply(to: token, with: .sync(SyncGroupResponse(error: error)))
    }

    /// Returns the member that sent the request. Returns nil after it has answered with an error.
    private func member(for request: SyncGroupRequest, token: ReplyToken) -> (Group, GroupMember)? {
        switch findMember(
            groupID: request.groupID, memberID: request.memberID, instanceID: request.instanceID,
            generation: request.generation)
        {
        case .failure(let refusal):
            refuseSync(of: token, error: refusal.error)
        case .success(let found):
            let agrees =
                (request.protocolType == nil || request.protocolType == found.group.protocolType)
                && (request.protocolName == nil || request.protocolName == found.group.protocolName)
            if agrees { return (found.group, found.member) }
            refuseSync(of: token, error: .inconsistentGroupProtocol)
        }
        return nil
    }

    private func markSynced(_ member: GroupMember, in group: Group) {
        group.awaitedSyncs.remove(member.id)
        if group.awaitedSyncs.isEmpty { group.syncDeadline = nil }
    }

    private func assign(_ request: SyncGroupRequest, to group: Group) {
        var assignments: [String: [UInt8]] = [:]
        for each in request.assignments { assignments[each.memberID] = each.assignment }
        var bytes = 0
        for member in group.members.values {
            member.assignment = assignments[member.id] ?? []
            bytes += member.assignment.count + member.offeredBytes
        }
        guard bytes <= settings.groupBytesMax else {
            dropAssignments(of: group, error: .unknownServerError)
            return prepareRebalance(of: group)
        }
        group.assignmentInFlight = true
        persist(
            [GroupRecords.group(group, assigned: true)],
            then: .assigned(group: group.id, generation: group.generation))
    }

    func answerSync(_ member: GroupMember, in group: Group) {
        guard let token = member.syncing else { return }
        member.syncing = nil
        extendSession(of: member, in: group)
        let response = SyncGroupResponse(
            protocolType: group.protocolType, protocolName: group.protocolName, assignment: member.assignment)
        reply(to: token, with: .sync(response))
    }
}
