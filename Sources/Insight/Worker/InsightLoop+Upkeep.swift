internal import Kafka
internal import Lifecycle
internal import Stages
internal import Telemetry
internal import Topics

extension InsightLoop {
    /// Once a second.
    func upkeep() {
        for lane in lanes.values {
            forget(lane)
            if lanes[lane.partition] != nil { publish(lane) }
        }
        commit()
        metrics.lanes.set(Double(lanes.count))
        metrics.blocked.set(Double(troubles.count))
        let waiting = closed.keys.sorted().map { partition in
            troubles[partition].map { "lane \(partition) cannot be read: \($0)" }
                ?? "lane \(partition) is being opened"
        }
        state.setObstacles(offered == nil ? waiting : ["lanes are offered, and are not taken over yet"])
    }

    /// How long the cluster may have failed to answer without a word of it: until then an end is not believed.
    private static let failureMilliseconds = 15_000

    /// Tells whoever answers questions how far the lane's figures go.
    func publish(_ lane: LaneFiles) {
        if let failedAt, Instant.now() < failedAt.advanced(byMilliseconds: Self.failureMilliseconds) {
            return
        }
        open.update(lane.partition, asOf: lane.asOf(now: WallTime.now().milliseconds))
    }

    /// Rows are old by the cluster's stamps: a clock here that is wrong forgets nothing.
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

    /// For `flotilla lag`: the files alone say from where they are read on.
    func commit() {
        var offsets: [OffsetToCommit] = []
        for lane in lanes.values {
            for topic in InsightTopic.allCases {
                let place = Kafka.TopicPartition(layout.name(topic.name), lane.partition)
                let applied = lane.applied(topic)
                if committed.updateValue(applied, forKey: place) != applied {
                    offsets.append(OffsetToCommit(place, offset: applied))
                }
            }
        }
        // One that fails is made good by the next; no figure rests on it.
        if !offsets.isEmpty { _ = consumer.commitLater(offsets) }
    }
}
