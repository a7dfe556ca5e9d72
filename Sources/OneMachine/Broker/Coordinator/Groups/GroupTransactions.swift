/// Offsets within transactions. They are durable but pending until the transaction commits or aborts.
extension GroupCoordinator {
    func commit(_ request: TxnOffsetCommitRequest, from token: ReplyToken) {
        switch groupForCommit(request) {
        case .failure(let refusal):
            reply(token, .transactionalCommit(.all(request.topics, refusal.error)))
        case .success(let group):
            let (offsets, response) = sort(request.topics)
            guard !offsets.isEmpty else {
                dropIfUnused(group)
                return reply(token, .transactionalCommit(response))
            }
            group.await(offsets, of: request.producerID, epoch: request.producerEpoch)
            let records = offsets.keys.sorted().compactMap { partition in
                offsets[partition].map { offset in
                    GroupRecords.pending(
                        of: group.id, in: partition, offset, producer: request.producerID,
                        epoch: request.producerEpoch)
                }
            }
            persist(
                records,
                then: .pending(
                    group: group.id, producer: request.producerID, offsets, token, response))
        }
    }

    private func groupForCommit(_ request: TxnOffsetCommitRequest) -> Result<Group, Refusal> {
        guard !request.groupID.isEmpty else { return .failure(Refusal(error: .invalidGroupID)) }
        guard let group = groups[request.groupID] ?? makeGroup(request.groupID) else {
            return .failure(Refusal(error: .policyViolation))
        }
        let source = CommitSource(
            memberID: request.memberID, instanceID: request.instanceID, generation: request.generation,
            isTransactional: true)
        if let error = commitError(source, group) {
            dropIfUnused(group)
            return .failure(Refusal(error: error))
        }
        return .success(group)
    }

    /// Applies the end of a producer's transaction to these groups. A repetition does nothing, because
    /// the offsets are no longer pending.
    func endTransaction(
        _ markers: MarkersID, producerID: Int64, commits: Bool, groups ids: [String], at now: Moment
    ) -> [GroupAction] {
        enter(at: now) {
            var ended: [String: PendingOffsets] = [:]
            var records: [CoordinatorRecord] = []
            for id in ids.sorted() {
                guard let offsets = groups[id]?.pending[producerID] else { continue }
                ended[id] = offsets
                for partition in offsets.offsets.keys.sorted() {
                    if commits, let offset = offsets.offsets[partition] {
                        records.append(GroupRecords.offset(of: id, in: partition, offset))
                    }
                    records.append(GroupRecords.pendingRemoved(id, partition, producer: producerID))
                }
            }
            guard !records.isEmpty else { return act(.transactionEnded(markers, durable: true)) }
            persist(
                records, then: .ended(markers, producer: producerID, commits: commits, groups: ended))
        }
    }

    func applyEnd(of producer: Int64, commits: Bool, _ ended: [String: PendingOffsets]) {
        for (id, offsets) in ended {
            guard let group = groups[id] else { continue }
            if commits { group.offsets.merge(offsets.offsets) { $1 } }
            group.pending[producer] = nil
        }
    }
}

extension Group {
    func await(_ offsets: [TopicPartition: CommittedOffset], of producer: Int64, epoch: Int16) {
        var waiting = pending[producer] ?? PendingOffsets(epoch: epoch, offsets: [:])
        if waiting.epoch != epoch { waiting = PendingOffsets(epoch: epoch, offsets: [:]) }
        waiting.offsets.merge(offsets) { $1 }
        pending[producer] = waiting
    }

    /// Removes pending offsets whose append failed. Later offsets for the same partitions stay.
    func withdraw(_ offsets: [TopicPartition: CommittedOffset], of producer: Int64) {
        guard var waiting = pending[producer] else { return }
        for (partition, offset) in offsets where waiting.offsets[partition] == offset {
            waiting.offsets[partition] = nil
        }
        pending[producer] = waiting.offsets.isEmpty ? nil : waiting
    }
}
