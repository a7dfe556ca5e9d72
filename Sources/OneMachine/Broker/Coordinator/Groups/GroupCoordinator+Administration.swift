/// The requests of operators: list, describe and delete groups.
extension GroupCoordinator {
    func list(_ request: ListGroupsRequest) -> ListGroupsResponse {
        let requestedStates = Set(request.states.map { $0.lowercased() })
        let listedGroups = groups.values.sorted { $0.id < $1.id }.filter { group in
            let isRequested =
                requestedStates.isEmpty || requestedStates.contains(group.state.rawValue.lowercased())
            return group.state != .dead && isRequested
        }
        return ListGroupsResponse(
            groups: listedGroups.map { group in
                .init(groupID: group.id, protocolType: group.protocolType ?? "", state: group.state.rawValue)
            })
    }

    func describe(_ request: DescribeGroupsRequest) -> DescribeGroupsResponse {
        DescribeGroupsResponse(groups: request.groupIDs.uniqued(by: \.self).map(describeGroup))
    }

    private func describeGroup(id: String) -> DescribeGroupsResponse.Group {
        // Kafka describes an unknown group as dead, without an error.
        guard let group = groups[id] else { return .init(groupID: id, state: GroupState.dead.rawValue) }
        let isStable = group.state == .stable
        let members = group.membersInOrder.map { member in
            DescribeGroupsResponse.Member(
                memberID: member.id, instanceID: member.instanceID, clientID: member.clientID,
                clientHost: member.clientHost,
                metadata: isStable ? member.metadata(for: group.protocolName) : [],
                assignment: isStable ? member.assignment : [])
        }
        return .init(
            groupID: id, state: group.state.rawValue, protocolType: group.protocolType ?? "",
            protocolName: isStable ? group.protocolName ?? "" : "", members: members)
    }

    /// Deletes groups without members. The groups are dead at once, and removed when that is durable.
    func delete(_ request: DeleteGroupsRequest, from token: ReplyToken) {
        var response = DeleteGroupsResponse(groups: [])
        var deletedIDs: [String] = []
        for id in request.groupIDs {
            let error = deletionError(ofGroup: id)
            if error == .none {
                deletedIDs.append(id)
                // The group is dead from here on, so the same id again in this request is an error.
                groups[id]?.state = .dead
            }
            response.groups.append(.init(groupID: id, error: error))
        }
        let records = deletedIDs.flatMap { groups[$0].map(removalRecords) ?? [] }
        guard !records.isEmpty else { return reply(to: token, with: .delete(response)) }
        persist(records, then: .deleted(groups: deletedIDs, token: token, answer: response))
    }

    private func deletionError(ofGroup id: String) -> ErrorCode {
        guard let group = groups[id], group.state != .dead else { return .groupIDNotFound }
        return group.state == .empty && group.pendingMemberIDs.isEmpty ? .none : .nonEmptyGroup
    }

    /// Returns the partitions with an offset that is in the log or on its way there.
    func storedPartitions(of group: Group) -> Set<PartitionID> {
        var partitions = Set(group.committedOffsets.keys)
        for continuation in pendingAppends.values {
            switch continuation {
            case .committed(group.id, let offsets, _, _): partitions.formUnion(offsets.keys)
            case .ended(_, _, commits: true, let groups):
                if let committed = groups[group.id] { partitions.formUnion(committed.offsets.keys) }
            default: break
            }
        }
        return partitions
    }

    /// Returns tombstones for all records of a group that are in the log or on their way there.
    func removalRecords(of group: Group) -> [CoordinatorRecord] {
        var records = storedPartitions(of: group).sorted().map {
            GroupRecords.offsetRemoved(group: group.id, partition: $0)
        }
        for producer in group.pendingOffsets.keys.sorted() {
            for partition in group.pendingOffsets[producer]?.offsets.keys.sorted() ?? [] {
                records.append(
                    GroupRecords.pendingOffsetRemoved(
                        group: group.id, partition: partition, producer: producer))
            }
        }
        records.append(GroupRecords.groupRemoved(id: group.id))
        return records
    }

    /// Deletes the offsets of topics that no member of the group reads.
    func deleteOffsets(_ request: OffsetDeleteRequest, from token: ReplyToken) {
        guard let group = groups[request.groupID], group.state != .dead else {
            return refuseDeletion(of: token, error: .groupIDNotFound)
        }
        if group.state != .empty && group.protocolType != "consumer" {
            return refuseDeletion(of: token, error: .nonEmptyGroup)
        }
        var deletedPartitions: [PartitionID] = []
        let topics = request.topics.map { topic in
            let isRead = group.state != .empty && group.mayRead(topic: topic.topic)
            if !isRead {
                deletedPartitions += topic.partitions.map {
                    PartitionID(topic: topic.topic, partition: $0)
                }
            }
            return TopicPartitions(
                topic: topic.topic,
                partitions: topic.partitions.map {
                    PartitionErrors.Partition(index: $0, error: isRead ? .groupSubscribedToTopic : .none)
                })
        }
        let response = PartitionErrors(topics: topics)
        guard !deletedPartitions.isEmpty else {
            return reply(to: token, with: .deleteOffsets(OffsetDeleteResponse(partitions: response)))
        }
        persist(
            deletedPartitions.map { GroupRecords.offsetRemoved(group: group.id, partition: $0) },
            then: .offsetsDeleted(
                group: group.id, partitions: deletedPartitions, token: token, answer: response))
    }

    private func refuseDeletion(of token: ReplyToken, error: ErrorCode) {
        reply(to: token, with: .deleteOffsets(OffsetDeleteResponse(error: error)))
    }
}
