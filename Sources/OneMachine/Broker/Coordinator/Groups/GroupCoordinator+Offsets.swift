internal import Telemetry

/// Commits without a transaction, and reads of offsets.
extension GroupCoordinator {
    /// Stores offsets. They count, and are answered, when they are durable.
    func commit(_ request: OffsetCommitRequest, from token: ReplyToken) {
        switch group(forCommit: request) {
        case .failure(let error):
            reply(to: token, with: .commit(.all(request.topics, error: error)))
        case .success(let group):
            let validated = validateOffsets(in: request.topics)
            guard !validated.offsets.isEmpty else {
                removeIfUnused(group)
                return reply(to: token, with: .commit(validated.answer))
            }
            let records = validated.offsets.keys.sorted().compactMap { partition in
                validated.offsets[partition].map {
                    GroupRecords.offset(group: group.id, partition: partition, offset: $0)
                }
            }
            persist(
                records,
                then: .committed(
                    group: group.id, offsets: validated.offsets, token: token, answer: validated.answer))
        }
    }

    /// Returns the group, which is made if needed, if it can take this commit.
    private func group(forCommit request: OffsetCommitRequest) -> Result<Group, ErrorCode> {
        guard let group = groups[request.groupID] else {
            guard request.generation < 0 else { return .failure(.illegalGeneration) }
            guard let group = makeGroup(id: request.groupID) else {
                return .failure(.policyViolation)
            }
            return .success(group)
        }
        let claimed = ClaimedMembership(
            memberID: request.memberID, instanceID: request.instanceID, generation: request.generation,
            isTransactional: false)
        if let error = commitError(of: claimed, in: group) { return .failure(error) }
        if group.state == .completingRebalance { return .failure(.rebalanceInProgress) }
        if let member = group.members[request.memberID] { extendSession(of: member, in: group) }
        return .success(group)
    }

    /// The membership that a commit claims.
    struct ClaimedMembership {
        let memberID: String
        let instanceID: String?
        let generation: Int32
        let isTransactional: Bool
    }

    /// Returns the error of a commit, or nil. If the request names a member or a generation, these must be current.
    /// A request that names neither may commit for an empty group, and within a transaction, as old clients do.
    func commitError(of claimed: ClaimedMembership, in group: Group) -> ErrorCode? {
        if group.state == .dead { return .coordinatorNotAvailable }
        if claimed.generation < 0 && group.state == .empty { return nil }
        let namesMember = !claimed.memberID.isEmpty || claimed.instanceID != nil
        if claimed.generation >= 0 || namesMember {
            if let error = group.memberError(memberID: claimed.memberID, instanceID: claimed.instanceID) {
                return error
            }
            return claimed.generation == group.generation ? nil : .illegalGeneration
        }
        return claimed.isTransactional || group.state == .empty ? nil : .unknownMemberID
    }

    struct ValidatedOffsets {
        /// The offsets that may be stored.
        let offsets: [PartitionID: CommittedOffset]
        /// The answer, with errors for the others.
        let answer: PartitionErrors
    }

    func validateOffsets(in topics: [TopicPartitions<OffsetCommitRequest.Partition>]) -> ValidatedOffsets {
        var offsets: [PartitionID: CommittedOffset] = [:]
        let answers = topics.map { topic in
            let partitions = topic.partitions.map { commit in
                let partition = PartitionID(topic: topic.topic, partition: commit.index)
                let metadata = commit.metadata ?? ""
                var error = ErrorCode.none
                if metadata.utf8.count > settings.offsetMetadataBytesMax {
                    error = .offsetMetadataTooLarge
                } else if !partitionExists(partition) {
                    error = .unknownTopicOrPartition
                } else {
                    offsets[partition] = CommittedOffset(
                        offset: commit.offset, leaderEpoch: commit.leaderEpoch, metadata: metadata,
                        committedAt: now.wall)
                }
                return PartitionErrors.Partition(index: commit.index, error: error)
            }
            return TopicPartitions(topic: topic.topic, partitions: partitions)
        }
        return ValidatedOffsets(offsets: offsets, answer: PartitionErrors(topics: answers))
    }

    func fetch(_ request: OffsetFetchRequest) -> OffsetFetchResponse {
        let answers = request.groups.map { requested in
            let group = groups[requested.groupID].flatMap { $0.state == .dead ? nil : $0 }
            let topics = requested.topics ?? group?.committedPartitions ?? []
            return OffsetFetchResponse.Group(
                groupID: requested.groupID,
                topics: topics.map { topic in
                    TopicPartitions(
                        topic: topic.topic,
                        partitions: topic.partitions.map { index in
                            let partition = PartitionID(topic: topic.topic, partition: index)
                            return group?.fetchedOffset(of: partition, stable: request.requireStable)
                                ?? OffsetFetchResponse.Partition(index: index)
                        })
                })
        }
        return OffsetFetchResponse(groups: answers)
    }
}

extension Group {
    /// Returns the answer for one partition. With `stable`, an offset that an open transaction may change
    /// is an error.
    fileprivate func fetchedOffset(of partition: PartitionID, stable: Bool)
        -> OffsetFetchResponse.Partition
    {
        if stable, pendingOffsets.values.contains(where: { $0.offsets[partition] != nil }) {
            return OffsetFetchResponse.Partition(index: partition.partition, error: .unstableOffsetCommit)
        }
        guard let committed = committedOffsets[partition] else {
            return OffsetFetchResponse.Partition(index: partition.partition)
        }
        return OffsetFetchResponse.Partition(
            index: partition.partition, offset: committed.offset, leaderEpoch: committed.leaderEpoch,
            metadata: committed.metadata)
    }

    /// The partitions with committed or pending offsets, by topic.
    fileprivate var committedPartitions: [TopicPartitions<Int32>] {
        var partitions = Set(committedOffsets.keys)
        for pending in pendingOffsets.values { partitions.formUnion(pending.offsets.keys) }
        var topics: [TopicPartitions<Int32>] = []
        for partition in partitions.sorted() {
            if topics.last?.topic != partition.topic {
                topics.append(TopicPartitions(topic: partition.topic, partitions: []))
            }
            topics[topics.count - 1].partitions.append(partition.partition)
        }
        return topics
    }
}

extension PartitionErrors {
    /// Returns the same error for every partition of the request.
    package static func all(
        _ topics: [TopicPartitions<OffsetCommitRequest.Partition>], error: ErrorCode
    ) -> PartitionErrors {
        PartitionErrors(
            topics: topics.map { topic in
                TopicPartitions(
                    topic: topic.topic,
                    partitions: topic.partitions.map { Partition(index: $0.index, error: error) })
            })
    }

    package static func all(_ topics: [TopicPartitions<Int32>], error: ErrorCode) -> PartitionErrors {
        PartitionErrors(
            topics: topics.map { topic in
                TopicPartitions(
                    topic: topic.topic,
                    partitions: topic.partitions.map { Partition(index: $0, error: error) })
            })
    }
}
