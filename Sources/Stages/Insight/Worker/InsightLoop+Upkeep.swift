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
        for lane in lanes.values {
            deleteOldRows(of: lane)
            if lanes[lane.partition] != nil { publishAsOf(lane) }
        }
        commitOffsets()
        drainEndOffsetClient()
        metrics.lanes.set(Double(lanes.count))
        metrics.blockedLanes.set(Double(laneProblems.count))
        state.setReadinessProblems(readinessProblems)
    }

    private var readinessProblems: [String] {
        if let problem = membership.readinessProblem { return [problem] }
        if offered != nil { return ["lanes are offered and not taken over yet"] }
        let unopened = unopenedLanes.keys.sorted().map { partition in
            laneProblems[partition].map { "lane \(partition) cannot be read: \($0)" }
                ?? "lane \(partition) is opening"
        }
        let unread = lanes.values.filter { !$0.isReading }.map(\.partition).sorted().map {
            "lane \($0) waits until the ends of its topics are known"
        }
        return (offerProblem.map { [$0] } ?? []) + unopened + unread
    }

    /// Takes the errors and statistics of `endOffsetClient`, so that they do not pile up.
    private func drainEndOffsetClient() {
        var deliveries: [Delivery] = []
        _ = endOffsetClient.collectDeliveries(into: &deliveries)
    }

    /// Publishes the time up to which the lane's figures are complete.
    func publishAsOf(_ lane: LaneFiles) {
        if let failedAt, Instant.now() < failedAt.advanced(byMilliseconds: Self.failureMilliseconds) {
            return
        }
        openLanes.update(partition: lane.partition, asOf: lane.asOf(now: WallTime.now().milliseconds))
    }

    /// Removes old rows. Their age is measured by the cluster's stamps, so a wrong local clock removes
    /// nothing.
    private func deleteOldRows(of lane: LaneFiles) {
        guard lane.newestStamp > 0 else { return }
        var count = 0
        for topic in InsightTopic.allCases {
            guard let retention = settings.retentionMilliseconds(of: topic) else { continue }
            do {
                count += try lane.files[topic.rawValue].deleteRows(before: lane.newestStamp - retention)
            } catch {
                return reopen(lane: lane.partition, after: LaneFileFailure(error: error, of: topic))
            }
        }
        metrics.deletedRows.add(count)
        if count > 0 { onStep(.oldRowsDeleted) }
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
