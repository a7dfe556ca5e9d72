internal import Lifecycle

/// Heartbeats, leaving and expiry of members.
extension GroupCoordinator {
    struct Refusal: Error {
        let error: ErrorCode
    }

    struct FoundMember {
        let group: Group
        let member: GroupMember
    }

    /// Returns the member that sent a request of a generation, or the error.
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

    /// Extends the member's session.
    func extendSession(of member: GroupMember, in group: Group) {
        member.extendSession(at: now.steady)
        deadlines.schedule(group.id, at: member.sessionDeadline)
    }

    func leave(_ request: LeaveGroupRequest) -> LeaveGroupResponse {
        guard !request.groupID.isEmpty else { return LeaveGroupResponse(error: .invalidGroupID) }
        let group = groups[request.groupID]
        guard group?.state != .dead else { return LeaveGroupResponse(error: .coordinatorNotAvailable) }
        var response = LeaveGroupResponse()
        for leaver in request.members {
            let error = group.map { leave(leaver, group: $0) } ?? .unknownMemberID
            response.members.append(
                .init(memberID: leaver.memberID, instanceID: leaver.instanceID, error: error))
        }
        return response
    }

    private func leave(_ leaver: LeaveGroupRequest.Member, group: Group) -> ErrorCode {
        if leaver.memberID.isEmpty, let instanceID = leaver.instanceID {
            guard let id = group.staticMembers[instanceID], let member = group.members[id] else {
                return .unknownMemberID
            }
            remove(member, from: group)
            return .none
        }
        if leaver.instanceID == nil, group.pendingMemberIDs.removeValue(forKey: leaver.memberID) != nil {
            completeJoinIfReady(of: group)
            return .none
        }
        if let error = group.memberError(memberID: leaver.memberID, instanceID: leaver.instanceID) {
            return error
        }
        guard let member = group.members[leaver.memberID] else { return .unknownMemberID }
        remove(member, from: group)
        return .none
    }

    /// Expires all deadlines of the group that have passed.
    func expireDeadlines(of group: Group) {
        let lapsed = group.pendingMemberIDs.filter { $0.value <= now.steady }
        for id in lapsed.keys { group.pendingMemberIDs[id] = nil }
        if !lapsed.isEmpty { completeJoinIfReady(of: group) }
        for member in group.membersInOrder
        where member.sessionDeadline <= now.steady && !member.isWaiting {
            // An earlier removal may have begun a generation and extended this member's session.
            guard group.members[member.id] === member, member.sessionDeadline <= now.steady else { continue }
            remove(member, from: group)
        }
        if let deadline = group.joinDeadline, deadline <= now.steady, group.state == .preparingRebalance {
            handleJoinTimeout(of: group)
        }
        if let deadline = group.syncDeadline, deadline <= now.steady { handleSyncTimeout(of: group) }
        removeIfUnused(group)
    }

    private func handleSyncTimeout(of group: Group) {
        group.syncDeadline = nil
        guard group.state == .completingRebalance || group.state == .stable else { return }
        for member in group.membersInOrder where group.awaitedSyncs.contains(member.id) {
            group.remove(member)
        }
        prepareRebalance(of: group)
        completeJoinIfReady(of: group)
    }

    /// Forgets a group that has no record in the log.
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
