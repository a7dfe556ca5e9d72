internal import Lifecycle

/// The change from one generation to the next: from `preparingRebalance`, in which all members must join
/// again, to `completingRebalance`, in which the leader assigns partitions. Late members are removed.
extension GroupCoordinator {
    /// Begins the join phase of the next generation, unless it has begun.
    func prepareRebalance(of group: Group) {
        switch group.state {
        case .preparingRebalance, .dead: return
        case .empty:
            let delay = settings.initialRebalanceDelayMilliseconds
            group.remainingInitialDelayMilliseconds = max(0, group.rebalanceTimeoutMilliseconds - delay)
            group.hasNewMember = false
            setJoinDeadline(of: group, inMilliseconds: delay)
        case .completingRebalance, .stable:
            dropAssignments(of: group, error: .rebalanceInProgress)
            setJoinDeadline(of: group, inMilliseconds: group.rebalanceTimeoutMilliseconds)
        }
        group.awaitedSyncs.removeAll()
        group.syncDeadline = nil
        group.isAssignmentInFlight = false
        group.enter(.preparingRebalance, at: now.wall)
    }

    private func setJoinDeadline(of group: Group, inMilliseconds milliseconds: Int) {
        let deadline = now.steady.advanced(byMilliseconds: milliseconds)
        group.joinDeadline = deadline
        deadlines.schedule(group.id, at: deadline)
    }

    /// Clears all assignments, and answers the members that wait for one with the error.
    func dropAssignments(of group: Group, error: ErrorCode) {
        for member in group.membersInOrder {
            member.assignment = []
            guard let token = member.pendingSync else { continue }
            member.pendingSync = nil
            extendSession(of: member, in: group)
            reply(to: token, with: .sync(SyncGroupResponse(error: error)))
        }
    }

    /// Ends the join phase early if all members of an established group have joined.
    func completeJoinIfReady(of group: Group) {
        guard group.state == .preparingRebalance, group.remainingInitialDelayMilliseconds == nil,
            group.allHaveJoined
        else { return }
        completeJoin(of: group)
    }

    /// Ends the join phase, or extends it if new members have joined a new group during this part of its wait.
    func handleJoinTimeout(of group: Group) {
        guard let remainingDelay = group.remainingInitialDelayMilliseconds, remainingDelay > 0,
            group.hasNewMember
        else { return completeJoin(of: group) }
        // Members have joined, so others may follow.
        let delay = min(settings.initialRebalanceDelayMilliseconds, remainingDelay)
        group.hasNewMember = false
        group.remainingInitialDelayMilliseconds = remainingDelay - delay
        setJoinDeadline(of: group, inMilliseconds: delay)
    }

    /// Removes the members that have not joined, and begins the generation with the others.
    private func completeJoin(of group: Group) {
        group.remainingInitialDelayMilliseconds = nil
        group.joinDeadline = nil
        // A static member that has not joined stays until its session ends.
        for member in group.membersInOrder where member.pendingJoin == nil && member.instanceID == nil {
            group.remove(member)
        }
        if group.members.isEmpty { return makeEmpty(group) }
        guard group.electLeader() else {
            // Only static members are left, and none has joined.
            return setJoinDeadline(of: group, inMilliseconds: group.rebalanceTimeoutMilliseconds)
        }
        beginGeneration(of: group)
    }

    private func makeEmpty(_ group: Group) {
        group.generation = nextGeneration(after: group.generation)
        group.protocolName = nil
        group.leaderID = nil
        group.enter(.empty, at: now.wall)
        persist([GroupRecords.group(group)], then: .emptied(group: group.id))
    }

    /// Begins the generation with the current members. They get their answers when it is durable.
    private func beginGeneration(of group: Group) {
        group.generation = nextGeneration(after: group.generation)
        group.protocolName = group.electedProtocol()
        group.enter(.completingRebalance, at: now.wall)
        var replies: [GroupContinuation.JoinReply] = []
        for member in group.membersInOrder {
            extendSession(of: member, in: group)
            member.isNew = false
            group.awaitedSyncs.insert(member.id)
            guard let token = member.pendingJoin else { continue }
            member.pendingJoin = nil
            replies.append(.init(token: token, response: joinResponse(for: member, in: group)))
        }
        let deadline = now.steady.advanced(byMilliseconds: group.rebalanceTimeoutMilliseconds)
        group.syncDeadline = deadline
        deadlines.schedule(group.id, at: deadline)
        persist(
            [GroupRecords.group(group)],
            then: .joined(group: group.id, generation: group.generation, replies: replies))
    }

    private func nextGeneration(after generation: Int32) -> Int32 {
        generation == .max ? 1 : generation + 1
    }

    /// Removes a member. The others must join again to take over its partitions.
    func remove(_ member: GroupMember, from group: Group) {
        if let token = member.pendingJoin { reply(to: token, with: .join(.failed(with: .unknownMemberID))) }
        if let token = member.pendingSync {
            reply(to: token, with: .sync(SyncGroupResponse(error: .unknownMemberID)))
        }
        member.pendingJoin = nil
        member.pendingSync = nil
        group.remove(member)
        switch group.state {
        case .stable, .completingRebalance:
            prepareRebalance(of: group)
            completeJoinIfReady(of: group)
        case .preparingRebalance: completeJoinIfReady(of: group)
        case .empty, .dead: break
        }
    }
}
