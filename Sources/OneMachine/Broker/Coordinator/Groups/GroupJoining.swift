internal import Lifecycle

/// JoinGroup: new members, members that join again, and static members that return.
extension GroupCoordinator {
    func join(_ request: JoinGroupRequest, from caller: Caller) {
        switch group(for: request) {
        case .failure(let refusal):
            reply(caller.token, .join(.failed(refusal.error, memberID: request.memberID)))
        case .success(let group):
            if request.memberID.isEmpty {
                joinNew(request, to: group, from: caller)
            } else {
                joinAgain(request, to: group, from: caller)
            }
            completeJoinIfAllCame(group)
        }
    }

    /// Returns the group if it can take this join.
    private func group(for request: JoinGroupRequest) -> Result<Group, Refusal> {
        guard !request.groupID.isEmpty else { return .failure(Refusal(error: .invalidGroupID)) }
        let timeout = Int(request.sessionTimeoutMilliseconds)
        guard timeout >= settings.sessionTimeoutMinimumMilliseconds,
            timeout <= settings.sessionTimeoutMaximumMilliseconds
        else { return .failure(Refusal(error: .invalidSessionTimeout)) }
        guard request.offeredBytes <= settings.memberBytesMax else {
            return .failure(Refusal(error: .invalidRequest))
        }
        guard let group = groups[request.groupID] else {
            guard request.memberID.isEmpty else { return .failure(Refusal(error: .unknownMemberID)) }
            guard let group = makeGroup(request.groupID) else {
                return .failure(Refusal(error: .policyViolation))
            }
            return check(request, group)
        }
        return check(request, group)
    }

    private func check(_ request: JoinGroupRequest, _ group: Group) -> Result<Group, Refusal> {
        guard group.state != .dead else { return .failure(Refusal(error: .coordinatorNotAvailable)) }
        guard hasRoom(for: request.memberID, in: group) else {
            return .failure(Refusal(error: .groupMaxSizeReached))
        }
        guard group.supports(protocolType: request.protocolType, request.protocols) else {
            dropIfUnused(group)
            return .failure(Refusal(error: .inconsistentGroupProtocol))
        }
        return .success(group)
    }

    private func hasRoom(for memberID: String, in group: Group) -> Bool {
        if group.members[memberID] != nil { return true }
        let promised = group.promisedIDs[memberID] == nil ? group.promisedIDs.count : 0
        return group.members.count + promised < settings.membersPerGroupMax
    }

    /// Makes a group. Returns nil if the limit of groups is reached.
    func makeGroup(_ id: String) -> Group? {
        guard groups.count < settings.groupsMax else { return nil }
        let group = Group(id: id, at: now.wall)
        groups[id] = group
        return group
    }

    private func joinNew(_ request: JoinGroupRequest, to group: Group, from caller: Caller) {
        let id = newMemberID(request.instanceID ?? caller.clientID)
        if let instanceID = request.instanceID {
            if let old = group.staticMembers[instanceID].flatMap({ group.members[$0] }) {
                return replaceStatic(old, by: id, asking: request, in: group, from: caller)
            }
        } else if request.version >= 4 {
            // The client must join again with this id. Otherwise a join that it gave up would leave a
            // member without a client.
            let deadline = now.steady.advanced(byMilliseconds: Int(request.sessionTimeoutMilliseconds))
            group.promisedIDs[id] = deadline
            deadlines.schedule(group.id, at: deadline)
            return reply(caller.token, .join(.failed(.memberIDRequired, memberID: id)))
        }
        addMember(id, asking: request, to: group, from: caller)
    }

    private func joinAgain(_ request: JoinGroupRequest, to group: Group, from caller: Caller) {
        if group.promisedIDs[request.memberID] != nil, request.instanceID == nil {
            return addMember(request.memberID, asking: request, to: group, from: caller)
        }
        if let error = group.memberError(request.memberID, request.instanceID) {
            return reply(caller.token, .join(.failed(error, memberID: request.memberID)))
        }
        guard let member = group.members[request.memberID] else { return }
        let unchanged = member.protocols == request.protocols
        switch group.state {
        case .completingRebalance where unchanged:
            // The member did not get the answer to its last join.
            answerJoinAgain(member, of: group, to: caller.token)
        case .stable where unchanged && group.leaderID != member.id:
            reply(caller.token, .join(joinResponse(for: member, in: group)))
        case .preparingRebalance, .completingRebalance, .stable:
            update(member, as: request, answering: caller.token)
            prepareRebalance(group)
        case .empty, .dead:
            reply(caller.token, .join(.failed(.unknownMemberID, memberID: request.memberID)))
        }
    }

    private func answerJoinAgain(_ member: GroupMember, of group: Group, to token: ReplyToken) {
        let answer = joinResponse(for: member, in: group)
        // The generation may still be on its way to the log, so this answer waits behind it.
        persist(
            [GroupRecords.group(group)],
            then: .joined(
                group: group.id, generation: group.generation, [.init(token: token, response: answer)]))
    }

    private func addMember(
        _ id: String, asking request: JoinGroupRequest, to group: Group, from caller: Caller
    ) {
        let member = GroupMember(
            id: id, instanceID: request.instanceID, clientID: caller.clientID, clientHost: caller.clientHost,
            order: nextMemberOrder(), sessionTimeoutMilliseconds: Int(request.sessionTimeoutMilliseconds),
            rebalanceTimeoutMilliseconds: Int(request.rebalanceTimeoutMilliseconds),
            protocols: request.protocols)
        member.isNew = true
        member.joining = caller.token
        member.sessionDeadline = now.steady.advanced(
            byMilliseconds: settings.newMemberJoinTimeoutMilliseconds)
        deadlines.schedule(group.id, at: member.sessionDeadline)
        if group.members.isEmpty { group.protocolType = request.protocolType }
        if group.state == .preparingRebalance && group.initialDelayLeftMilliseconds != nil {
            group.newMemberArrived = true
        }
        group.add(member)
        prepareRebalance(group)
    }

    private func update(_ member: GroupMember, as request: JoinGroupRequest, answering token: ReplyToken) {
        if let earlier = member.joining {
            reply(earlier, .join(.failed(.rebalanceInProgress, memberID: member.id)))
        }
        member.joining = token
        member.protocols = request.protocols
        member.sessionTimeoutMilliseconds = Int(request.sessionTimeoutMilliseconds)
        member.rebalanceTimeoutMilliseconds = Int(request.rebalanceTimeoutMilliseconds)
    }

    /// Replaces a static member by its restarted process. The old id is fenced. If nothing changes for
    /// the other members, they need not join again.
    private func replaceStatic(
        _ old: GroupMember, by id: String, asking request: JoinGroupRequest, in group: Group,
        from caller: Caller
    ) {
        let formerLeader = group.leaderID ?? ""
        let member = GroupMember(
            id: id, instanceID: old.instanceID, clientID: caller.clientID, clientHost: caller.clientHost,
            order: old.order, sessionTimeoutMilliseconds: Int(request.sessionTimeoutMilliseconds),
            rebalanceTimeoutMilliseconds: Int(request.rebalanceTimeoutMilliseconds),
            protocols: request.protocols)
        member.assignment = old.assignment
        fence(old)
        group.replace(old, by: member)
        heard(member, in: group)
        guard group.state == .stable, group.electedProtocol() == group.protocolName else {
            member.joining = caller.token
            return prepareRebalance(group)
        }
        // The answer names the leader by its former id, so that the new process does not lead: it would
        // assign partitions while no member waits for them.
        var answer = joinResponse(for: member, in: group)
        answer.leaderID = formerLeader
        answer.members = []
        persist(
            [GroupRecords.group(group)],
            then: .joined(
                group: group.id, generation: group.generation, [.init(token: caller.token, response: answer)])
        )
    }

    private func fence(_ member: GroupMember) {
        if let token = member.joining {
            reply(token, .join(.failed(.fencedInstanceID, memberID: member.id)))
        }
        if let token = member.syncing { reply(token, .sync(SyncGroupResponse(error: .fencedInstanceID))) }
        member.joining = nil
        member.syncing = nil
    }

    func joinResponse(for member: GroupMember, in group: Group) -> JoinGroupResponse {
        var response = JoinGroupResponse(
            generation: group.generation, protocolType: group.protocolType, protocolName: group.protocolName,
            leaderID: group.leaderID ?? "", memberID: member.id)
        if group.leaderID == member.id {
            response.members = group.membersInOrder.map { each in
                JoinGroupResponse.Member(
                    memberID: each.id, instanceID: each.instanceID,
                    metadata: each.metadata(for: group.protocolName))
            }
        }
        return response
    }
}

extension JoinGroupRequest {
    fileprivate var offeredBytes: Int { protocols.reduce(0) { $0 + $1.metadata.count + $1.name.utf8.count } }
}
