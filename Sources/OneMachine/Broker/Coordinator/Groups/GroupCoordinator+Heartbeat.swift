internal import Lifecycle

/// The check of the membership that a request claims, and the Heartbeat request.
extension GroupCoordinator {
    /// The sender of a request, with its group.
    struct FoundMember {
        let group: Group
        let member: GroupMember
    }

    /// Returns the member that sent a request, if the request belongs to the group's current generation.
    func findMember(
        groupID: String, memberID: String, instanceID: String?, generation: Int32
    ) -> Result<FoundMember, ErrorCode> {
        guard !groupID.isEmpty else { return .failure(.invalidGroupID) }
        guard let group = groups[groupID] else { return .failure(.unknownMemberID) }
        guard group.state != .dead else { return .failure(.coordinatorNotAvailable) }
        if let error = group.memberError(memberID: memberID, instanceID: instanceID) {
            return .failure(error)
        }
        guard let member = group.members[memberID] else {
            return .failure(.unknownMemberID)
        }
        guard generation == group.generation else { return .failure(.illegalGeneration) }
        return .success(FoundMember(group: group, member: member))
    }

    /// Extends the member's session. During a join phase, the answer asks the member to join again.
    func heartbeat(_ request: HeartbeatRequest) -> ErrorCode {
        switch findMember(
            groupID: request.groupID, memberID: request.memberID, instanceID: request.instanceID,
            generation: request.generation)
        {
        case .failure(let error): return error
        case .success(let found):
            switch found.group.state {
            case .empty, .dead: return .unknownMemberID
            case .preparingRebalance:
                extendSession(of: found.member, in: found.group)
                return .rebalanceInProgress
            case .completingRebalance, .stable:
                extendSession(of: found.member, in: found.group)
                return .none
            }
        }
    }

    /// Sets the member's session deadline to its session timeout from now.
    func extendSession(of member: GroupMember, in group: Group) {
        member.extendSession(at: now.steady)
        deadlines.schedule(group.id, at: member.sessionDeadline)
    }
}
