internal import Lifecycle

/// JoinGroup: new members, members that join again, and static members that return.
extension GroupCoordinator {
    /// From this version on, a new member first gets its id and must join again with it (KIP-394).
    private static let firstVersionWithRequiredMemberID: Int16 = 4

    func join(_ request: JoinGroupRequest, from caller: Caller) {
        switch group(for: request) {
        case .failure(let error):
            reply(to: caller.token, with: .join(.failed(with: error, memberID: request.memberID)))
        case .success(let group):
            if request.memberID.isEmpty {
                joinNew(request, to: group, from: caller)
            } else {
                rejoin(request, to: group, from: caller)
            }
            completeJoinIfReady(of: group)
        }
    }

    /// Returns the group if it can take this join.
    private func group(for request: JoinGroupRequest) -> Result<Group, ErrorCode> {
        guard !request.groupID.isEmpty else { return .failure(.invalidGroupID) }
        let timeout = Int(request.sessionTimeoutMilliseconds)
        guard timeout >= settings.sessionTimeoutMinimumMilliseconds,
            timeout <= settings.sessionTimeoutMaximumMilliseconds
        else { return .failure(.invalidSessionTimeout) }
        guard request.offeredBytes <= settings.memberBytesMax else {
            return .failure(.invalidRequest)
        }
        guard let group = groups[request.groupID] else {
            guard request.memberID.isEmpty else { return .failure(.unknownMemberID) }
            guard let group = makeGroup(id: request.groupID) else {
                return .failure(.policyViolation)
            }
            return checkJoin(request, group: group)
        }
        return checkJoin(request, group: group)
    }

    /// Returns the group, or the reason why the client cannot join it.
    private func checkJoin(_ request: JoinGroupRequest, group: Group) -> Result<Group, ErrorCode> {
        guard group.state != .dead else { return .failure(.coordinatorNotAvailable) }
        guard canHold(memberID: request.memberID, in: group) else {
            return .failure(.groupMaxSizeReached)
        }
        guard group.supports(protocolType: request.protocolType, offers: request.protocols) else {
            removeIfUnused(group)
            return .failure(.inconsistentGroupProtocol)
        }
        return .success(group)
    }

    /// Whether the limit of members allows this one. A member id that was given out counts as a member for
    /// clients without such an id.
    private func canHold(memberID: String, in group: Group) -> Bool {
        if group.members[memberID] != nil { return true }
        let reservedCount = group.pendingMemberIDs[memberID] == nil ? group.pendingMemberIDs.count : 0
        return group.members.count + reservedCount < settings.membersPerGroupMax
    }

    /// Makes a group. Returns nil if the limit of groups is reached.
    func makeGroup(id: String) -> Group? {
        guard groups.count < settings.groupsMax else { return nil }
        let group = Group(id: id, at: now.wall)
        groups[id] = group
        return group
    }

    /// Handles the first join of a client, which has no member id.
    private func joinNew(_ request: JoinGroupRequest, to group: Group, from caller: Caller) {
        let id = newMemberID(clientID: request.instanceID ?? caller.clientID)
        if let instanceID = request.instanceID {
            if let old = group.staticMemberIDs[instanceID].flatMap({ group.members[$0] }) {
                return replaceStaticMember(old, newID: id, request: request, in: group, from: caller)
            }
        } else if request.version >= Self.firstVersionWithRequiredMemberID {
            // A join that the client gave up would otherwise leave a member without a client.
            let deadline = now.steady.advanced(byMilliseconds: Int(request.sessionTimeoutMilliseconds))
            group.pendingMemberIDs[id] = deadline
            deadlines.schedule(group.id, at: deadline)
            return reply(to: caller.token, with: .join(.failed(with: .memberIDRequired, memberID: id)))
        }
        addMember(id: id, request: request, to: group, from: caller)
    }

    /// Handles the join of a client with a member id.
    private func rejoin(_ request: JoinGroupRequest, to group: Group, from caller: Caller) {
        if group.pendingMemberIDs[request.memberID] != nil, request.instanceID == nil {
            return addMember(id: request.memberID, request: request, to: group, from: caller)
        }
        if let error = group.memberError(memberID: request.memberID, instanceID: request.instanceID) {
            return reply(to: caller.token, with: .join(.failed(with: error, memberID: request.memberID)))
        }
        // Without an error, the member exists.
        guard let member = group.members[request.memberID] else { return }
        let isUnchanged = member.protocols == request.protocols
        switch group.state {
        case .completingRebalance where isUnchanged:
            // The member did not get the answer to its last join.
            answerRejoin(of: member, in: group, to: caller.token)
        case .stable where isUnchanged && group.leaderID != member.id:
            // A leader does not come here: it joins again, unchanged, when the topics have new partitions.
            reply(to: caller.token, with: .join(joinResponse(for: member, in: group)))
        case .preparingRebalance, .completingRebalance, .stable:
            update(member, with: request, answering: caller.token)
            prepareRebalance(of: group)
        case .empty, .dead:
            reply(to: caller.token, with: .join(.failed(with: .unknownMemberID, memberID: request.memberID)))
        }
    }

    /// Answers a member of the current generation, whose first answer was lost.
    private func answerRejoin(of member: GroupMember, in group: Group, to token: ReplyToken) {
        let answer = joinResponse(for: member, in: group)
        // The generation may still be on its way to the log, so this answer waits behind it.
        persist(
            [GroupRecords.group(group)],
            then: .joined(
                group: group.id, generation: group.generation,
                replies: [.init(token: token, response: answer)]))
    }

    /// Adds a member that waits for its answer, and begins another generation.
    private func addMember(
        id: String, request: JoinGroupRequest, to group: Group, from caller: Caller
    ) {
        let member = GroupMember(
            id: id, instanceID: request.instanceID, clientID: caller.clientID, clientHost: caller.clientHost,
            order: nextMemberOrder(), sessionTimeoutMilliseconds: Int(request.sessionTimeoutMilliseconds),
            rebalanceTimeoutMilliseconds: Int(request.rebalanceTimeoutMilliseconds),
            protocols: request.protocols)
        member.isNew = true
        member.pendingJoin = caller.token
        member.sessionDeadline = now.steady.advanced(
            byMilliseconds: settings.newMemberJoinTimeoutMilliseconds)
        deadlines.schedule(group.id, at: member.sessionDeadline)
        if group.members.isEmpty { group.protocolType = request.protocolType }
        if group.state == .preparingRebalance && group.remainingInitialDelayMilliseconds != nil {
            group.hasNewMember = true
        }
        group.add(member)
        prepareRebalance(of: group)
    }

    /// Gives a member the values of its new join, whose answer it then waits for.
    private func update(_ member: GroupMember, with request: JoinGroupRequest, answering token: ReplyToken) {
        // The member joins again, on a new connection or after a timeout. Only its last request counts.
        if let earlierToken = member.pendingJoin {
            reply(to: earlierToken, with: .join(.failed(with: .rebalanceInProgress, memberID: member.id)))
        }
        member.pendingJoin = token
        member.protocols = request.protocols
        member.sessionTimeoutMilliseconds = Int(request.sessionTimeoutMilliseconds)
        member.rebalanceTimeoutMilliseconds = Int(request.rebalanceTimeoutMilliseconds)
    }

    /// Replaces a static member by its restarted process. The old id is fenced. If nothing changes for
    /// the other members, they need not join again.
    private func replaceStaticMember(
        _ old: GroupMember, newID id: String, request: JoinGroupRequest, in group: Group,
        from caller: Caller
    ) {
        let formerLeader = group.leaderID ?? ""
        let member = GroupMember(
            id: id, instanceID: old.instanceID, clientID: caller.clientID, clientHost: caller.clientHost,
            order: old.joinOrder, sessionTimeoutMilliseconds: Int(request.sessionTimeoutMilliseconds),
            rebalanceTimeoutMilliseconds: Int(request.rebalanceTimeoutMilliseconds),
            protocols: request.protocols)
        member.assignment = old.assignment
        fence(old)
        group.replace(old, by: member)
        extendSession(of: member, in: group)
        guard group.state == .stable, group.electedProtocol() == group.protocolName else {
            member.pendingJoin = caller.token
            return prepareRebalance(of: group)
        }
        // The answer names the leader by its former id, so that the new process does not lead: it would
        // assign partitions while no member waits for them.
        var answer = joinResponse(for: member, in: group)
        answer.leaderID = formerLeader
        answer.members = []
        persist(
            [GroupRecords.group(group)],
            then: .joined(
                group: group.id, generation: group.generation,
                replies: [.init(token: caller.token, response: answer)])
        )
    }

    /// Answers the waiting requests of a member that another process has replaced.
    private func fence(_ member: GroupMember) {
        if let token = member.pendingJoin {
            reply(to: token, with: .join(.failed(with: .fencedInstanceID, memberID: member.id)))
        }
        if let token = member.pendingSync {
            reply(to: token, with: .sync(SyncGroupResponse(error: .fencedInstanceID)))
        }
        member.pendingJoin = nil
        member.pendingSync = nil
    }

    /// Returns the answer to a member of the current generation. Only the leader gets the list of members.
    func joinResponse(for member: GroupMember, in group: Group) -> JoinGroupResponse {
        var response = JoinGroupResponse(
            generation: group.generation, protocolType: group.protocolType, protocolName: group.protocolName,
            leaderID: group.leaderID ?? "", memberID: member.id)
        if group.leaderID == member.id {
            response.members = group.membersInOrder.map { listed in
                JoinGroupResponse.Member(
                    memberID: listed.id, instanceID: listed.instanceID,
                    metadata: listed.metadata(for: group.protocolName))
            }
        }
        return response
    }
}

extension JoinGroupRequest {
    fileprivate var offeredBytes: Int { protocols.reduce(0) { $0 + $1.metadata.count + $1.name.utf8.count } }
}
