internal import Lifecycle

/// From one generation to the next: everybody is asked to join again, who does not come in time is
/// out, and the leader learns who is there.
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

    /// The generation will never have its assignment; who waits for it is told.
    func dropAssignments(_ group: Group, _ error: ErrorCode) {
        for member in group.membersInOrder {
            member.assignment = []
            guard let token = member.syncing else { continue }
            member.syncing = nil
            heard(member, in: group)
            reply(token, .sync(SyncGroupResponse(error: error)))
        }
    }

    /// An established group need not wait for its deadline when everybody is there.
    func completeJoinIfAllCame(_ group: Group) {
        guard group.state == .preparingRebalance, group.initialDelayLeftMilliseconds == nil,
            group.allHaveJoined
        else { return }
        completeJoin(group)
    }

    /// The time to join is over.
    func joinTimeIsUp(_ group: Group) {
        guard let left = group.initialDelayLeftMilliseconds else { return completeJoin(group) }
        guard group.newMemberArrived, left > 0 else { return completeJoin(group) }
        // More members came: others may be on their way.
        let delay = min(settings.initialRebalanceDelayMilliseconds, left)
        group.newMemberArrived = false
        group.initialDelayLeftMilliseconds = left - delay
        setJoinDeadline(group, inMilliseconds: delay)
    }

    private func completeJoin(_ group: Group) {
        group.initialDelayLeftMilliseconds = nil
        group.joinDeadline = nil
        // A static member that has not come keeps its place until its session ends.
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

    /// Takes a member out; the others are asked to share what it had.
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
