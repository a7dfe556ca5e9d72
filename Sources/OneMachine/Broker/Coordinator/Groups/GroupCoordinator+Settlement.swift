/// The effects of appends whose outcome is known. If an append failed, the client is answered with
/// COORDINATOR_NOT_AVAILABLE and tries again.
extension GroupCoordinator {
    /// Applies what waited for an append, and answers the clients.
    /// - Parameter durable: false if the append failed.
    func settleAppend(_ id: AppendID, durable: Bool) {
        guard let continuation = pendingAppends.removeValue(forKey: id) else { return }
        for group in continuation.groupIDs { groups[group]?.appendsInFlight -= 1 }
        switch continuation {
        case .joined(let group, let generation, let replies):
            settleJoin(of: group, generation: generation, replies: replies, durable: durable)
        case .assigned(let group, let generation):
            settleAssignment(of: group, generation: generation, durable: durable)
        case .emptied: break
        case .committed(let group, let offsets, let token, let response):
            if durable { groups[group]?.committedOffsets.merge(offsets) { $1 } }
            reply(
                to: token,
                with: .commit(durable ? response : response.replacingSuccess(by: .coordinatorNotAvailable)))
        case .pending(let group, let producer, let offsets, let token, let response):
            if !durable { groups[group]?.removePendingOffsets(offsets, of: producer) }
            let answer = durable ? response : response.replacingSuccess(by: .coordinatorNotAvailable)
            reply(to: token, with: .transactionalCommit(answer))
        case .ended(let markers, let producer, let commits, let ended):
            if durable { applyEnd(of: producer, commits: commits, groups: ended) }
            emit(.transactionEnded(markers, durable: durable))
        case .deleted(let groups, let token, let response):
            settleDeletion(of: groups, answering: token, with: response, durable: durable)
        case .offsetsDeleted(let group, let partitions, let token, let response):
            settleOffsetDeletion(
                of: group, partitions: partitions, answering: token, with: response, durable: durable)
        }
    }

    /// Answers the members of a new generation.
    private func settleJoin(
        of id: String, generation: Int32, replies: [GroupContinuation.JoinReply], durable: Bool
    ) {
        for joinReply in replies {
            let failure = JoinGroupResponse.failed(
                with: .coordinatorNotAvailable, memberID: joinReply.response.memberID)
            reply(to: joinReply.token, with: .join(durable ? joinReply.response : failure))
        }
        // No member got an answer with this generation, so all must join another one.
        guard !durable, let group = groups[id], group.generation == generation else { return }
        prepareRebalance(of: group)
    }

    /// Answers the members that wait for their assignment.
    private func settleAssignment(of id: String, generation: Int32, durable: Bool) {
        // The group may have begun the next generation in the meantime.
        guard let group = groups[id], group.state == .completingRebalance, group.generation == generation
        else { return }
        group.isAssignmentInFlight = false
        if durable {
            group.enter(.stable, at: now.wall)
            for member in group.membersInOrder where member.pendingSync != nil {
                answerSync(member, in: group)
            }
        } else {
            dropAssignments(of: group, error: .coordinatorNotAvailable)
            prepareRebalance(of: group)
        }
    }

    /// Removes deleted groups, or brings them back after a failed append. Without a token, the deletion
    /// was an expiry.
    private func settleDeletion(
        of ids: [String], answering token: ReplyToken?, with response: DeleteGroupsResponse, durable: Bool
    ) {
        for id in ids {
            if durable {
                groups[id] = nil
                deadlines.remove(id)
            } else {
                groups[id]?.state = .empty
            }
        }
        guard let token else { return }
        var response = response
        if !durable {
            for index in response.groups.indices where response.groups[index].error == .none {
                response.groups[index].error = .coordinatorNotAvailable
            }
        }
        reply(to: token, with: .delete(response))
    }

    /// Removes deleted offsets. Without a token, the deletion was an expiry.
    private func settleOffsetDeletion(
        of id: String, partitions: [PartitionID], answering token: ReplyToken?,
        with response: PartitionErrors,
        durable: Bool
    ) {
        if durable { for partition in partitions { groups[id]?.committedOffsets[partition] = nil } }
        guard let token else { return }
        let answer = durable ? response : response.replacingSuccess(by: .coordinatorNotAvailable)
        reply(to: token, with: .deleteOffsets(OffsetDeleteResponse(partitions: answer)))
    }
}

extension PartitionErrors {
    /// Returns a copy with `error` for the partitions that have none.
    package func replacingSuccess(by error: ErrorCode) -> PartitionErrors {
        var copy = self
        for topic in copy.topics.indices {
            for partition in copy.topics[topic].partitions.indices
            where copy.topics[topic].partitions[partition].error == .none {
                copy.topics[topic].partitions[partition].error = error
            }
        }
        return copy
    }
}
