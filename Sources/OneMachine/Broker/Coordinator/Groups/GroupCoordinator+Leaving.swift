/// LeaveGroup: members leave, or an operator removes static members.
extension GroupCoordinator {
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
        // An operator's tool names a static member by its instance id alone.
        if leaver.memberID.isEmpty, let instanceID = leaver.instanceID {
            guard let id = group.staticMemberIDs[instanceID], let member = group.members[id] else {
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
}
