internal import Lifecycle

/// SyncGroup: the leader sends the assignment, and each member fetches its part.
extension GroupCoordinator {
    /// Answers a member with its assignment, at once or when the leader's assignments are durable.
    func sync(_ request: SyncGroupRequest, from token: ReplyToken) {
        guard let sender = findSender(of: request, answering: token) else { return }
        let group = sender.group
        let member = sender.member
        switch group.state {
        case .empty, .dead: refuseSync(of: token, error: .unknownMemberID)
        case .preparingRebalance: refuseSync(of: token, error: .rebalanceInProgress)
        case .completingRebalance:
            // The member asks again, on a new connection or after a timeout. Only its last request gets the
            // assignment (in `settleAssignment`).
            if let earlierToken = member.pendingSync {
                refuseSync(of: earlierToken, error: .rebalanceInProgress)
            }
            member.pendingSync = token
            stopAwaitingSync(of: member, in: group)
            if group.leaderID == member.id && !group.isAssignmentInFlight {
                storeAssignments(from: request, of: group)
            }
        case .stable:
            // The assignments are durable.
            member.pendingSync = token
            stopAwaitingSync(of: member, in: group)
            answerSync(member, in: group)
        }
    }

    private func refuseSync(of token: ReplyToken, error: ErrorCode) {
        reply(to: token, with: .sync(SyncGroupResponse(error: error)))
    }

    /// Returns the member that sent the request. If the request is wrong, answers it with the error and returns
    /// nil.
    private func findSender(of request: SyncGroupRequest, answering token: ReplyToken) -> FoundMember? {
        switch findMember(
            groupID: request.groupID, memberID: request.memberID, instanceID: request.instanceID,
            generation: request.generation)
        {
        case .failure(let error):
            refuseSync(of: token, error: error)
        case .success(let found):
            let agrees =
                (request.protocolType == nil || request.protocolType == found.group.protocolType)
                && (request.protocolName == nil || request.protocolName == found.group.protocolName)
            if agrees { return found }
            refuseSync(of: token, error: .inconsistentGroupProtocol)
        }
        return nil
    }

    private func stopAwaitingSync(of member: GroupMember, in group: Group) {
        group.awaitedSyncs.remove(member.id)
        if group.awaitedSyncs.isEmpty { group.syncDeadline = nil }
    }

    /// Takes the leader's assignments and appends the group to the log.
    private func storeAssignments(from request: SyncGroupRequest, of group: Group) {
        var assignments: [String: [UInt8]] = [:]
        for part in request.assignments { assignments[part.memberID] = part.assignment }
        var groupBytes = 0
        for member in group.members.values {
            member.assignment = assignments[member.id] ?? []
            groupBytes += member.assignment.count + member.offeredBytes
        }
        guard groupBytes <= settings.groupBytesMax else {
            // A record of this size cannot be stored. All members join again, as after a failed append.
            dropAssignments(of: group, error: .unknownServerError)
            return prepareRebalance(of: group)
        }
        group.isAssignmentInFlight = true
        persist(
            [GroupRecords.group(group, assigned: true)],
            then: .assigned(group: group.id, generation: group.generation))
    }

    /// Answers the member's waiting request with its assignment.
    func answerSync(_ member: GroupMember, in group: Group) {
        guard let token = member.pendingSync else { return }
        member.pendingSync = nil
        extendSession(of: member, in: group)
        let response = SyncGroupResponse(
            protocolType: group.protocolType, protocolName: group.protocolName, assignment: member.assignment)
        reply(to: token, with: .sync(response))
    }
}
