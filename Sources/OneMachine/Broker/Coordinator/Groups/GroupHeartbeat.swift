internal import Lifecycle

/// Heartbeats, leaving and expiry of members.
extension GroupCoordinator {
    struct Refusal: Error {
        let error: ErrorCode
    }

    struct Reached {
        let group: Group
        let member: GroupMember
    }

    /// Returns the member that sent a request of a generation, or the error.
    func reach(
        _ groupID: String, member memberID: String, instance instanceID: String?, generation: Int32
    ) -> Result<Reached, Refusal> {
        guard !groupID.isEmpty else { return .failure(Refusal(error: .invalidGroupID)) }
        guard let group = groups[groupID] else { return .failure(Refusal(error: .unknownMemberID)) }
        guard group.state != .dead else { return .failure(Refusal(error: .coordinatorNotAvailable)) }
        if let error = group.memberError(memberID, instanceID) {
            return .failure(Refusal(error: error))
        }
        guard let member = group.members[memberID] else {
            return .failure(Refusal(error: .unknownMemberID))
        }
        guard generation == group.generation else { return .failure(Refusal(error: .illegalGeneration)) }
        return .success(Reached(group: group, member: member))
    }

    func heartbeat(_ request: HeartbeatRequest) -> ErrorCode {
        switch reach(
            request.groupID, member: request.memberID, instance: request.instanceID,
            generation: request.generation)
        {
        case .failure(let refusal): return refusal.error
        case .success(let found):
            switch found.group.state {
            case .empty, .dead: return .unknownMemberID
            case .preparingRebalance:
                heard(found.member, in: found.group)
                return .rebalanceInProgress
            case .completingRebalance, .stable:
                heard(found.member, in: found.group)
                return .none
            }
        }
    }

    /// Extends the member's session.
    func heard(_ member: GroupMember, in group: Group) {
        member.heard(at: now.steady)
        deadlines.schedule(group.id, at: member.sessionDeadline)
    }

    func leave(_ request: LeaveGroupRequest) -> LeaveGroupResponse {
        guard !request.groupID.isEmpty else { return LeaveGroupResponse(error: .invalidGroupID) }
        let group = groups[request.groupID]
        guard group?.state != .dead else { return LeaveGroupResponse(error: .coordinatorNotAvailable) }
        var response = LeaveGroupResponse()
        for leaver in request.members {
            let error = group.map { leave(leaver, $0) } ?? .unknownMemberID
            response.members.append(
                .init(memberID: leaver.memberID, instanceID: leaver.instanceID, error: error))
        }
        return response
    }

    private func leave(_ leaver: LeaveGroupRequest.Member, _ group: Group) -> ErrorCode {
        if leaver.memberID.isEmpty, let instanceID = leaver.instanceID {
            guard let id = group.staticMembers[instanceID], let member = group.members[id] else {
                return .unknownMemberID
            }
            remove(member, from: group)
            return .none
        }
        if leaver.instanceID == nil, group.promisedIDs.removeValue(forKey: leaver.memberID) != nil {
            completeJoinIfAllCame(group)
            return .none
        }
        if let error = group.memberError(leaver.memberID, leaver.instanceID) { return error }
        guard let member = group.members[leaver.memberID] else { return .unknownMemberID }
        remove(member, from: group)
        return .none
    }

    /// Expires all deadlines of the group that have passed.
    func expire(_ group: Group) {
        let lapsed = group.promisedIDs.filter { $0.value <= now.steady }
        for id in lapsed.keys { group.promisedIDs[id] = nil }
        if !lapsed.isEmpty { completeJoinIfAllCame(group) }
        for member in group.membersInOrder
        where member.sessionDeadline <= now.steady && !member.isWaiting {
            // An earlier removal may have begun a generation and extended this member's session.
            guard group.members[member.id] === member, member.sessionDeadline <= now.steady else { continue }
            remove(member, from: group)
        }
        if let deadline = group.joinDeadline, deadline <= now.steady, group.state == .preparingRebalance {
            joinTimeIsUp(group)
        }
        if let deadline = group.syncDeadline, deadline <= now.steady { syncTimeIsUp(group) }
        dropIfUnused(group)
    }

    private func syncTimeIsUp(_ group: Group) {
        group.syncDeadline = nil
        guard group.state == .completingRebalance || group.state == .stable else { return }
        for member in group.membersInOrder where group.awaitedSyncs.contains(member.id) {
            group.remove(member)
        }
        prepareRebalance(group)
        completeJoinIfAllCame(group)
    }

    /// Forgets a group that has no record in the log.
    func dropIfUnused(_ group: Group) {
        guard group.isUnused, group.generation == 0, group.appendsInFlight == 0 else { return }
        groups[group.id] = nil
        deadlines.forget(group.id)
    }

    /// Schedules the group's earliest deadline.
    func watch(_ group: Group) {
        var earliest = min(group.joinDeadline ?? .distantFuture, group.syncDeadline ?? .distantFuture)
        for deadline in group.promisedIDs.values { earliest = min(earliest, deadline) }
        for member in group.members.values where !member.isWaiting {
            earliest = min(earliest, member.sessionDeadline)
        }
        if earliest < .distantFuture { deadlines.schedule(group.id, at: earliest) }
    }
}
