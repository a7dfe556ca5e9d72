internal import Lifecycle
internal import Telemetry

/// The expiry of offsets, by Kafka's rules (KIP-211), and the removal of a deleted topic's offsets.
extension GroupCoordinator {
    /// Removes expired offsets, and groups of which nothing else is left.
    func checkRetention() {
        nextRetentionCheck = now.steady.advanced(byMilliseconds: settings.offsetsRetentionCheckMilliseconds)
        for group in groups.values.sorted(by: { $0.id < $1.id }) {
            let expired = expiredOffsets(of: group)
            let losesAllOffsets =
                expired.count == group.committedOffsets.count && group.pendingOffsets.isEmpty
            let hasNoClients = group.state == .empty && group.pendingMemberIDs.isEmpty
            if hasNoClients && losesAllOffsets && group.appendsInFlight == 0 {
                group.state = .dead
                persist(
                    removalRecords(of: group),
                    then: .deleted(groups: [group.id], token: nil, answer: DeleteGroupsResponse(groups: [])))
            } else if !expired.isEmpty {
                removeExpiredOffsets(at: expired, of: group)
            }
        }
    }

    /// Returns the partitions whose offset has expired. In a group with members, offsets of topics that they
    /// read do not expire. In an empty group of consumers, the age begins when the last member has left.
    private func expiredOffsets(of group: Group) -> [PartitionID] {
        guard group.state == .empty || group.state == .stable else { return [] }
        let newestExpired = now.expiry.milliseconds - settings.offsetsRetentionMilliseconds
        return group.committedOffsets.filter { partition, offset in
            guard !group.pendingOffsets.values.contains(where: { $0.offsets[partition] != nil }) else {
                return false
            }
            var lastUse = offset.committedAt
            if group.state == .empty {
                if group.protocolType != nil { lastUse = max(lastUse, group.stateSince) }
            } else if group.mayRead(topic: partition.topic) {
                return false
            }
            return lastUse.milliseconds <= newestExpired
        }.keys.sorted()
    }

    private func removeExpiredOffsets(at partitions: [PartitionID], of group: Group) {
        persist(
            partitions.map { GroupRecords.offsetRemoved(group: group.id, partition: $0) },
            then: .offsetsDeleted(
                group: group.id, partitions: partitions, token: nil, answer: PartitionErrors(topics: [])))
    }

    /// Removes the offsets of a deleted topic, which would be wrong for a new topic of that name.
    func removeOffsets(ofTopic topic: String, at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) {
            for group in groups.values.sorted(by: { $0.id < $1.id }) {
                let pendingRemovals = withdrawPendingOffsets(ofTopic: topic, from: group)
                let partitions = storedPartitions(of: group).filter { $0.topic == topic }.sorted()
                guard !partitions.isEmpty || !pendingRemovals.isEmpty else { continue }
                let removals = partitions.map { GroupRecords.offsetRemoved(group: group.id, partition: $0) }
                persist(
                    pendingRemovals + removals,
                    then: .offsetsDeleted(
                        group: group.id, partitions: partitions, token: nil,
                        answer: PartitionErrors(topics: [])))
            }
        }
    }

    /// Removes a topic's offsets from open transactions at once. Otherwise a commit could write them
    /// again before the removal is durable.
    private func withdrawPendingOffsets(ofTopic topic: String, from group: Group) -> [CoordinatorRecord] {
        var removals: [CoordinatorRecord] = []
        for producer in group.pendingOffsets.keys.sorted() {
            let partitions =
                group.pendingOffsets[producer]?.offsets.keys.filter { $0.topic == topic }.sorted() ?? []
            for partition in partitions {
                group.pendingOffsets[producer]?.offsets[partition] = nil
                removals.append(
                    GroupRecords.pendingOffsetRemoved(
                        group: group.id, partition: partition, producer: producer))
            }
            if group.pendingOffsets[producer]?.offsets.isEmpty == true {
                group.pendingOffsets[producer] = nil
            }
        }
        return removals
    }
}
