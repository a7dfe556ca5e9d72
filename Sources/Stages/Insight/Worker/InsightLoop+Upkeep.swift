internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

extension InsightLoop {
    /// Does the periodic work, once a second.
    func upkeep() {
        for lane in lanes.values {
            forget(lane)
            if lanes[lane.partition] != nil { publish(lane) }
        }
        commit()
        serveAsker()
        metrics.lanes.set(Double(lanes.count))
        metrics.blocked.set(Double(troubles.count))
        let waiting = closed.keys.sorted().map { partition in
            troubles[partition].map { "lane \(partition) cannot be read: \($0)" }
                ?? "lane \(partition) is opening"
        }
        let unread = lanes.values.filter { !$0.isReading }.map(\.partition).sorted().map {
            "lane \($0) waits until the ends of its topics are known"
        }
        let lanes = offered == nil ? waiting + unread : ["lanes are offered and not taken over yet"]
        state.setObstacles(membership.problem.map { [$0] } ?? lanes)
    }

    /// Takes the errors and statistics of the asker, so that they do not pile up.
    private func serveAsker() {
        var deliveries: [Delivery] = []
        _ = asker.collect(into: &deliveries)
    }

    /// The time for which an outage of the cluster can stay unnoticed. During it the reported end of a
    /// partition is not trusted.
    private static let failureMilliseconds = 15_000

    /// Publishes the time up to which the lane's figures are complete.
    func publish(_ lane: LaneFiles) {
        if let failedAt, Instant.now() < failedAt.advanced(byMilliseconds: Self.failureMilliseconds) {
            return
        }
        open.update(lane.partition, asOf: lane.asOf(now: WallTime.now().milliseconds))
    }

    /// Removes old rows. Their age is measured by the cluster's stamps, so a wrong local clock removes
    /// nothing.
    private func forget(_ lane: LaneFiles) {
        guard lane.newest > 0 else { return }
        var count = 0
        for topic in InsightTopic.allCases {
            guard let kept = settings.keptMilliseconds(topic) else { continue }
            do {
                count += try lane.files[topic.rawValue].forget(before: lane.newest - kept)
            } catch {
                return reopen(lane.partition, FileTrouble(error, of: topic))
            }
        }
        metrics.forgotten.add(count)
        if count > 0 { onStep(.forgotten) }
    }

    /// Commits offsets for `flotilla lag`. Reading resumes from the offsets in the files instead.
    func commit() {
        var offsets: [OffsetToCommit] = []
        for lane in lanes.values {
            for topic in InsightTopic.allCases {
                let place = TopicPartition(layout.name(topic.name), lane.partition)
                let applied = lane.applied(topic)
                if committed.updateValue(applied, forKey: place) != applied {
                    offsets.append(OffsetToCommit(place, offset: applied))
                }
            }
        }
        // The next commit repairs a failed one. No figure depends on it.
        if !offsets.isEmpty { _ = consumer.commitLater(offsets) }
    }
}
