/// Offsets within transactions. They are durable but pending until the transaction commits or aborts.
extension GroupCoordinator {
    /// Stores offsets as pending ones of the producer's transaction.
    func commit(_ request: TxnOffsetCommitRequest, from token: ReplyToken) {
        switch group(forCommit: request) {
        case .failure(let error):
            reply(to: token, with: .transactionalCommit(.all(request.topics, error: error)))
        case .success(let group):
            let validated = validateOffsets(in: request.topics)
            let offsets = validated.offsets
            guard !offsets.isEmpty else {
                removeIfUnused(group)
                return reply(to: token, with: .transactionalCommit(validated.answer))
            }
            // They are pending at once, so that the end of the transaction does not miss them.
            group.addPendingOffsets(offsets, of: request.producerID, epoch: request.producerEpoch)
            let records = offsets.keys.sorted().compactMap { partition in
                offsets[partition].map { offset in
                    GroupRecords.pendingOffset(
                        group: group.id, partition: partition, offset: offset, producer: request.producerID,
                        epoch: request.producerEpoch)
                }
            }
            persist(
                records,
                then: .pending(
                    group: group.id, producer: request.producerID, offsets: offsets, token: token,
                    answer: validated.answer))
        }
    }

    /// Returns the group, which is made if needed, if it can take this commit.
    private func group(forCommit request: TxnOffsetCommitRequest) -> Result<Group, ErrorCode> {
        guard !request.groupID.isEmpty else { return .failure(.invalidGroupID) }
        guard let group = groups[request.groupID] ?? makeGroup(id: request.groupID) else {
            return .failure(.policyViolation)
        }
        let claimed = ClaimedMembership(
            memberID: request.memberID, instanceID: request.instanceID, generation: request.generation,
            isTransactional: true)
        if let error = commitError(of: claimed, in: group) {
            removeIfUnused(group)
            return .failure(error)
        }
        return .success(group)
    }

    /// Applies the end of a producer's transaction to these groups. A repetition does nothing, because
    /// the offsets are no longer pending.
    package func endTransaction(
        markers: MarkersID, producerID: Int64, commits: Bool, groups ids: [String], at now: ClockReading
    ) -> [GroupAction] {
        handleEvent(at: now) {
            var endedGroups: [String: PendingOffsets] = [:]
            var records: [CoordinatorRecord] = []
            for id in ids.sorted() {
                guard let pending = groups[id]?.pendingOffsets[producerID] else { continue }
                endedGroups[id] = pending
                for partition in pending.offsets.keys.sorted() {
                    if commits, let offset = pending.offsets[partition] {
                        records.append(GroupRecords.offset(group: id, partition: partition, offset: offset))
                    }
                    records.append(
                        GroupRecords.pendingOffsetRemoved(
                            group: id, partition: partition, producer: producerID))
                }
            }
            guard !records.isEmpty else { return emit(.transactionEnded(markers, durable: true)) }
            persist(
                records, then: .ended(markers, producer: producerID, commits: commits, groups: endedGroups))
        }
    }

    /// Moves the pending offsets to the committed ones, or drops them, after the end is durable.
    func applyEnd(of producer: Int64, commits: Bool, groups endedGroups: [String: PendingOffsets]) {
        for (id, pending) in endedGroups {
            guard let group = groups[id] else { continue }
            if commits { group.committedOffsets.merge(pending.offsets) { $1 } }
            group.pendingOffsets[producer] = nil
        }
    }
}

extension Group {
    func addPendingOffsets(_ offsets: [PartitionID: CommittedOffset], of producer: Int64, epoch: Int16) {
        var pending = pendingOffsets[producer] ?? PendingOffsets(epoch: epoch, offsets: [:])
        // Offsets of an earlier epoch belong to a transaction that can no longer commit.
        if pending.epoch != epoch { pending = PendingOffsets(epoch: epoch, offsets: [:]) }
        pending.offsets.merge(offsets) { $1 }
        pendingOffsets[producer] = pending
    }

    /// Removes pending offsets whose append failed. Later offsets for the same partitions stay.
    func removePendingOffsets(_ offsets: [PartitionID: CommittedOffset], of producer: Int64) {
        guard var pending = pendingOffsets[producer] else { return }
        for (partition, offset) in offsets where pending.offsets[partition] == offset {
            pending.offsets[partition] = nil
        }
        pendingOffsets[producer] = pending.offsets.isEmpty ? nil : pending
    }
}
