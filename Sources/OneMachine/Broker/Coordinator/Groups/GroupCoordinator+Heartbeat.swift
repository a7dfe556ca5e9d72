internal import Lifecycle

/// Heartbeat, and the check of a request's member that other requests share.
extension GroupCoordinator {
    /// The error with which a request is answered.
    struct Refusal: Error {
        let error: ErrorCode
    }

    /// The sender of a request, with its group.
    struct FoundMember {
        let group: Group
        let member: GroupMember
    }

    /// Returns the member that sent a request, if the request belongs to the group's current generation.
    func findMember(
        groupID: String, memberID: String, instanceID: String?, generation: Int32
    ) -> Result<FoundMember, Refusal> {
        guard !groupID.isEmpty else { return .failure(Refusal(error: .invalidGroupID)) }
        guard let group = groups[groupID] else { return .failure(Refusal(error: .unknownMemberID)) }
        guard group.state != .dead else { return .failure(Refusal(error: .coordinatorNotAvailable)) }
        if let error = group.memberError(memberID: memberID, instanceID: instanceID) {
            return .failure(Refusal(error: error))
        }
        guard let member = group.members[memberID] else {
            return .failure(Refusal(error: .unknownMemberID))
        }
        guard generation == group.generation else { return .failure(Refusal(error: .illegalGeneration)) }
        return .success(FoundMember(group: group, member: member))
    }

    /// Extends the member's session. During a join phase, the answer asks the member to join again.
    func heartbeat(_ request: HeartbeatRequest) -> ErrorCode {
        switch findMember(
            groupID: request.groupID, memberID: request.memberID, instanceID: request.instanceID,
            generation: request.generation)
        {
        case .failure(let refusal): return refusal.error
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
