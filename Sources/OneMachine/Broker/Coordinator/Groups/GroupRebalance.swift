internal import Lifecycle

/// The change from one generation to the next. All members must join again, late members are removed, and
/// the leader gets the list of members.
extension GroupCoordinator {
    /// Begins the next generation unless it has begun.
    func prepareRebalance(_ group: Group) {
        switch group.state {
        case .preparingRebalance, .dead: return
        case .empty:
            let delay = settings.initialRebalanceDelayMilliseconds
            group.initialDelayLeftMilliseconds = max(0, group.rebalanceTimeoutMilliseconds - delay)
            group.newMemberArrived = false
            setJoinDeadline(group, inMilliseconds: delay)
        case .completingRebalance, .stable:
            dropAssignments(group, .rebalanceInProgress)
            setJoinDeadline(group, inMilliseconds: group.rebalanceTimeoutMilliseconds)
        }
        group.awaitedSyncs.removeAll()
        group.syncDeadline = nil
        group.assignmentInFlight = false
        group.enter(.preparingRebalance, at: now.wall)
    }

    private func setJoinDeadline(_ group: Group, inMilliseconds milliseconds: Int) {
        let deadline = now.steady.advanced(byMilliseconds: milliseconds)
        group.joinDeadline = deadline
        deadlines.schedule(group.id, at: deadline)
    }

    /// Answers the members that wait for an assignment which will never come.
    func dropAssignments(_ group: Group, _ error: ErrorCode) {
        for member in group.membersInOrder {
            member.assignment = []
            guard let token = member.syncing else { continue }
            member.syncing = nil
            heard(member, in: group)
            reply(token, .sync(SyncGroupResponse(error: error)))
        }
    }

    /// Ends the join phase early if all members of an established group have joined.
    func completeJoinIfAllCame(_ group: Group) {
        guard group.state == .preparingRebalance, group.initialDelayLeftMilliseconds == nil,
            group.allHaveJoined
        else { return }
        completeJoin(group)
    }

    /// Ends the join phase.
    func joinTimeIsUp(_ group: Group) {
        guard let left = group.initialDelayLeftMilliseconds else { return completeJoin(group) }
        guard group.newMemberArrived, left > 0 else { return completeJoin(group) }
        // More members joined, so others may follow.
        let delay = min(settings.initialRebalanceDelayMilliseconds, left)
        group.newMemberArrived = false
        group.initialDelayLeftMilliseconds = left - delay
        setJoinDeadline(group, inMilliseconds: delay)
    }

    private func completeJoin(_ group: Group) {
        group.initialDelayLeftMilliseconds = nil
        group.joinDeadline = nil
        // A static member that has not joined stays until its session ends.
        for member in group.membersInOrder where member.joining == nil && member.instanceID == nil {
            group.remove(member)
        }
        if group.members.isEmpty { return becomeEmpty(group) }
        guard group.electLeader() else {
            return setJoinDeadline(group, inMilliseconds: group.rebalanceTimeoutMilliseconds)
        }
        beginGeneration(group)
    }

    private func becomeEmpty(_ group: Group) {
        group.generation = nextGeneration(after: group.generation)
        group.protocolName = nil
        group.leaderID = nil
        group.enter(.empty, at: now.wall)
        persist([GroupRecords.group(group)], then: .emptied(group: group.id))
    }

    private func beginGeneration(_ group: Group) {
        group.generation = nextGeneration(after: group.generation)
        group.protocolName = group.electedProtocol()
        group.enter(.completingRebalance, at: now.wall)
        var replies: [GroupContinuation.JoinReply] = []
        for member in group.membersInOrder {
            heard(member, in: group)
            member.isNew = false
            group.awaitedSyncs.insert(member.id)
            guard let token = member.joining else { continue }
            member.joining = nil
            replies.append(.init(token: token, response: joinResponse(for: member, in: group)))
        }
        let deadline = now.steady.advanced(byMilliseconds: group.rebalanceTimeoutMilliseconds)
        group.syncDeadline = deadline
        deadlines.schedule(group.id, at: deadline)
        persist(
            [GroupRecords.group(group)],
            then: .joined(group: group.id, generation: group.generation, replies))
    }

    private func nextGeneration(after generation: Int32) -> Int32 {
        generation == .max ? 1 : generation + 1
    }

    /// Removes a member. The others must join again to take over its partitions.
    func remove(_ member: GroupMember, from group: Group) {
        if let token = member.joining { reply(token, .join(.failed(.unknownMemberID))) }
        if let token = member.syncing { reply(token, .sync(SyncGroupResponse(error: .unknownMemberID))) }
        member.joining = nil
        member.syncing = nil
        group.remove(member)
        switch group.state {
        case .stable, .completingRebalance:
            prepareRebalance(group)
            completeJoinIfAllCame(group)
        case .preparingRebalance: completeJoinIfAllCame(group)
        case .empty, .dead: break
        }
    }
}
