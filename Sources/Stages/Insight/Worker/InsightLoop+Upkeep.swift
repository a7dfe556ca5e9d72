internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

extension InsightLoop {
    /// The time for which an outage of the cluster can stay unnoticed. During it the reported end of a
    /// partition is not trusted.
    private static let failureMilliseconds = 15_000

    /// Does the periodic work, once a second.
    func performUpkeep() {
        for (partition, failure) in openLanes.takeDamage() { reopen(lane: partition, after: failure) }
        deleteOldRows()
        resumeFullFiles(at: .now())
        for lane in lanes.values { publishAsOf(lane) }
        commitOffsets()
        metrics.lanes.set(Double(lanes.count))
        metrics.blockedLanes.set(
            Double(Set(laneProblems.keys).union(fullFiles.keys.map(\.partition)).count))
        state.setReadinessProblems(readinessProblems)
    }

    private var readinessProblems: [String] {
        if let problem = membership.readinessProblem { return [problem] }
        if offered != nil { return ["lanes are offered and not taken over yet"] }
        let unopened = unopenedLanes.keys.sorted().map { partition in
            laneProblems[partition].map { "lane \(partition) cannot be read: \($0)" }
                ?? "lane \(partition) is opening"
        }
        let unread = lanes.values.filter { !isReading($0) }.map(\.partition).sorted().map {
            "lane \($0) waits until the ends of its topics are known"
        }
        return (offerProblem.map { [$0] } ?? []) + unopened + unread
    }

    /// Whether the lane's topics are read, except those whose files are full.
    private func isReading(_ lane: LaneFiles) -> Bool {
        zip(InsightTopic.allCases, partitions(ofLane: lane.partition)).allSatisfy { topic, partition in
            lane.isReading(topic) || fullFiles[partition] != nil
        }
    }

    /// Publishes the time up to which the lane's figures are complete.
    func publishAsOf(_ lane: LaneFiles) {
        if let failedAt, Instant.now() < failedAt.advanced(byMilliseconds: Self.failureMilliseconds) {
            return
        }
        openLanes.update(partition: lane.partition, asOf: lane.asOf(now: WallTime.now().milliseconds))
    }

    /// The time in each second for the deletion of old rows. Without old rows it is not used.
    private static let deletionMilliseconds = 200

    /// Removes old rows of all lanes in turn, until all are removed or the time for it is over. Each call begins with
    /// another lane.
    private func deleteOldRows() {
        let end = Instant.now().advanced(byMilliseconds: Self.deletionMilliseconds)
        deletionCount &+= 1
        var partitions = lanes.keys.sorted()
        if !partitions.isEmpty {
            let first = Int(deletionCount % UInt(partitions.count))
            partitions = Array(partitions[first...] + partitions[..<first])
        }
        var count = 0
        while !partitions.isEmpty, Instant.now() < end {
            partitions = partitions.filter { partition in
                guard Instant.now() < end, let lane = lanes[partition] else { return false }
                let deleted = deleteOldRows(of: lane)
                count += deleted.count
                return deleted.mayHaveMore
            }
        }
        metrics.deletedRows.add(count)
        if count > 0 { onStep(.oldRowsDeleted) }
    }

    /// Removes some of a lane's old rows. Their age is measured by the cluster's stamps, so a wrong local clock removes
    /// nothing.
    private func deleteOldRows(of lane: LaneFiles) -> DeletedRows {
        guard lane.newestStamp > 0 else { return DeletedRows() }
        var deleted = DeletedRows()
        for topic in InsightTopic.allCases {
            guard let retention = settings.retentionMilliseconds(of: topic) else { continue }
            do {
                deleted =
                    try deleted
                    + lane.files[topic.rawValue].deleteRows(before: lane.newestStamp - retention)
            } catch {
                recover(lane, from: LaneFileFailure(error: error, of: topic), of: topic)
                return DeletedRows(count: deleted.count)
            }
        }
        return deleted
    }

    /// Commits offsets for `flotilla lag`. Reading resumes from the offsets in the files instead.
    func commitOffsets() {
        var offsets: [OffsetToCommit] = []
        for lane in lanes.values {
            for topic in InsightTopic.allCases {
                let topicPartition = TopicPartition(layout.name(of: topic.name), lane.partition)
                let applied = lane.appliedOffset(of: topic)
                if committedOffsets.updateValue(applied, forKey: topicPartition) != applied {
                    offsets.append(OffsetToCommit(partition: topicPartition, offset: applied))
                }
            }
        }
        // The next commit repairs a failed one. No figure depends on it.
        if !offsets.isEmpty { _ = consumer.commitAsynchronously(offsets) }
    }
}
