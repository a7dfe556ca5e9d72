package import Kafka
internal import Lifecycle
internal import Telemetry

// Partitions whose results go to a partition that takes no records now. They are set aside, and the others are served.

extension GroupMember {
    /// Lets a partition wait until other partitions take records again. The caller then starts over, because the
    /// records of the failed transaction are read again.
    ///
    /// - Parameter written: the partitions that the results go to, and that take no records.
    package func setAside(_ partition: Int32, until written: Set<TopicPartition>) {
        guard let part = assignedPartitions[partition] else { return }
        setAsidePartitions[partition, default: []].formUnion(written)
        log.warning(
            "a partition waits, because its results cannot be written", .field("partition", part.name),
            .field("topics", topicNames), .field("reason", problem(of: partition)))
    }

    /// Serves the partitions again that wait for one of these.
    package func resumeSetAside(after recovered: Set<TopicPartition>) {
        let resumed = setAsidePartitions.filter { !$0.value.isDisjoint(with: recovered) }.keys.sorted()
        if resumed.isEmpty { return }
        for partition in resumed { setAsidePartitions[partition] = nil }
        log.info(
            "partitions continue, because their results can be written again",
            .field("topics", topicNames), .field("count", resumed.count))
        // The failures while the partitions waited say nothing about the time from now on.
        startOverPause = StartOverPause()
        startOverLater()
    }

    /// The state of a partition before it is served.
    func stateWhileRestoring(_ partition: Int32) -> PartitionState {
        setAsidePartitions[partition] == nil ? .restoring : .setAside(problem(of: partition))
    }

    private func problem(of partition: Int32) -> String {
        let written = (setAsidePartitions[partition] ?? []).map(\.description).sorted()
        return
            "\(written.joined(separator: ", ")) does not take records; see that its leader runs and that enough replicas are in sync"
    }
}
