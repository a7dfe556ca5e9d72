/// Offsets within transactions. They are durable but pending until the transaction commits or aborts.
extension GroupCoordinator {
    func commit(_ request: TxnOffsetCommitRequest, from token: ReplyToken) {
        switch group(forCommit: request) {
        case .failure(let refusal):
            reply(to: token, with: .transactionalCommit(.all(request.topics, error: refusal.error)))
        case .success(let group):
            let (offsets, response) = validateOffsets(in: request.topics)
            guard !offsets.isEmpty else {
                removeIfUnused(group)
                return reply(to: token, with: .transactionalCommit(response))
            }
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
                    group: group.id, producer: request.producerID, offsets, token, response))
        }
    }

    private func group(forCommit request: TxnOffsetCommitRequest) -> Result<Group, Refusal> {
        guard !request.groupID.isEmpty else { return .failure(Refusal(error: .invalidGroupID)) }
        guard let group = groups[request.groupID] ?? makeGroup(id: request.groupID) else {
            return .failure(Refusal(error: .policyViolation))
        }
        let source = CommitSource(
            memberID: request.memberID, instanceID: request.instanceID, generation: request.generation,
            isTransactional: true)
        if let error = commitError(of: source, in: group) {
            removeIfUnused(group)
            return .failure(Refusal(error: error))
        }
        return .success(group)
    }

    /// Applies the end of a producer's transaction to these groups. A repetition does nothing, because
    /// the offsets are no longer pending.
    func endTransaction(
        markers: MarkersID, producerID: Int64, commits: Bool, groups ids: [String], at now: ClockReading
    ) -> [GroupAction] {
        handleEvent(at: now) {
            var ended: [String: PendingOffsets] = [:]
            var records: [CoordinatorRecord] = []
            for id in ids.sorted() {
                guard let offsets = groups[id]?.pendingOffsets[producerID] else { continue }
                ended[id] = offsets
                for partition in offsets.offsets.keys.sorted() {
                    if commits, let offset = offsets.offsets[partition] {
                        records.append(GroupRecords.offset(group: id, partition: partition, offset: offset))
                    }
                    records.append(
                        GroupRecords.pendingOffsetRemoved(
                            group: id, partition: partition, producer: producerID))
                }
            }
            guard !records.isEmpty else { return emit(.transactionEnded(markers, durable: true)) }
            persist(
                records, then: .ended(markers, producer: producerID, commits: commits, groups: ended))
        }
    }

    func applyEnd(of producer: Int64, commits: Bool, groups ended: [String: PendingOffsets]) {
        for (id, offsets) in ended {
            guard let group = groups[id] else { continue }
            if commits { group.offsets.merge(offsets.offsets) { $1 } }
            group.pendingOffsets[producer] = nil
        }
    }
}

extension Group {
    func addPendingOffsets(_ offsets: [TopicPartition: CommittedOffset], of producer: Int64, epoch: Int16) {
        var waiting = pendingOffsets[producer] ?? PendingOffsets(epoch: epoch, offsets: [:])
        if waiting.epoch != epoch { waiting = PendingOffsets(epoch: epoch, offsets: [:]) }
        waiting.offsets.merge(offsets) { $1 }
        pendingOffsets[producer] = waiting
    }

    /// Removes pending offsets whose append failed. Later offsets for the same partitions stay.
    func removePendingOffsets(_ offsets: [TopicPartition: CommittedOffset], of producer: Int64) {
        guard var waiting = pendingOffsets[producer] else { return }
        for (partition, offset) in offsets where waiting.offsets[partition] == offset {
            waiting.offsets[partition] = nil
        }
        pendingOffsets[producer] = waiting.offsets.isEmpty ? nil : waiting
    }
}
