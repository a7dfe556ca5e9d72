internal import Lifecycle
internal import Telemetry

/// The expiry of offsets, by Kafka's rules (KIP-211), and the offsets of deleted topics.
extension GroupCoordinator {
    func checkRetention() {
        retentionCheck = now.steady.advanced(byMilliseconds: settings.offsetsRetentionCheckMilliseconds)
        for group in groups.values.sorted(by: { $0.id < $1.id }) {
            let expired = expiredOffsets(of: group)
            let isLeft = expired.count == group.offsets.count && group.pending.isEmpty
            if group.state == .empty && isLeft && group.promisedIDs.isEmpty && group.appendsInFlight == 0 {
                group.state = .dead
                persist(
                    removalRecords(group),
                    then: .deleted(groups: [group.id], nil, DeleteGroupsResponse(groups: [])))
            } else if !expired.isEmpty {
                forget(expired, of: group)
            }
        }
    }

    private func expiredOffsets(of group: Group) -> [TopicPartition] {
        guard group.state == .empty || group.state == .stable else { return [] }
        let oldest = now.expiry.milliseconds - settings.offsetsRetentionMilliseconds
        return group.offsets.filter { partition, offset in
            guard !group.pending.values.contains(where: { $0.offsets[partition] != nil }) else {
                return false
            }
            var lastUse = offset.committedAt
            if group.state == .empty {
                if group.protocolType != nil { lastUse = max(lastUse, group.stateSince) }
            } else if group.subscribes(to: partition.topic) != false {
                return false
            }
            return lastUse.milliseconds <= oldest
        }.keys.sorted()
    }

    private func forget(_ partitions: [TopicPartition], of group: Group) {
        persist(
            partitions.map { GroupRecords.offsetRemoved(group.id, $0) },
            then: .forgotten(group: group.id, partitions, nil, PartitionErrors(topics: [])))
    }

    /// Removes the offsets of a deleted topic, which mean nothing to a new topic of that name.
    func topicDeleted(_ topic: String, at now: Moment) -> [GroupAction] {
        enter(at: now) {
            for group in groups.values.sorted(by: { $0.id < $1.id }) {
                let pendingRemovals = withdraw(topic, from: group)
                let gone = storedPartitions(of: group).filter { $0.topic == topic }.sorted()
                guard !gone.isEmpty || !pendingRemovals.isEmpty else { continue }
                persist(
                    pendingRemovals + gone.map { GroupRecords.offsetRemoved(group.id, $0) },
                    then: .forgotten(group: group.id, gone, nil, PartitionErrors(topics: [])))
            }
        }
    }

    /// Removes a topic's offsets from open transactions at once. Otherwise a commit could write them
    /// again before the removal is durable.
    private func withdraw(_ topic: String, from group: Group) -> [CoordinatorRecord] {
        var removals: [CoordinatorRecord] = []
        for producer in group.pending.keys.sorted() {
            let gone = group.pending[producer]?.offsets.keys.filter { $0.topic == topic }.sorted() ?? []
            for partition in gone {
                group.pending[producer]?.offsets[partition] = nil
                removals.append(GroupRecords.pendingRemoved(group.id, partition, producer: producer))
            }
            if group.pending[producer]?.offsets.isEmpty == true { group.pending[producer] = nil }
        }
        return removals
    }
}
