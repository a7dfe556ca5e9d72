internal import Kafka
internal import Stages
internal import Telemetry
internal import Topics

extension InsightLoop {
    /// Once a second.
    func upkeep() {
        for lane in lanes.values { forget(lane) }
        commit()
        metrics.lanes.set(Double(lanes.count))
        metrics.blocked.set(Double(troubles.count))
        state.setObstacles(
            closed.keys.sorted().map { number in
                troubles[number].map { "lane \(number) cannot be read: \($0)" }
                    ?? "lane \(number) is being opened"
            })
    }

    /// Rows are old by the cluster's stamps: a clock here that is wrong forgets nothing.
    private func forget(_ lane: LaneFiles) {
        guard lane.newest > 0 else { return }
        do {
            let receipts = try lane.receipts.forget(
                before: lane.newest - Int64(settings.receiptsMilliseconds))
            let events = try lane.events.forget(before: lane.newest - Int64(settings.eventsMilliseconds))
            metrics.forgotten.add(receipts + events)
            if receipts + events > 0 { onStep(.forgotten) }
        } catch {
            reopen(lane.number, FileTrouble(error, of: .receipts))
        }
    }

    /// For `flotilla lag`: the files alone say from where they are read on.
    func commit() {
        var offsets: [OffsetToCommit] = []
        for lane in lanes.values {
            for topic in InsightTopic.allCases {
                let place = Kafka.TopicPartition(layout.name(topic.name), lane.number)
                let applied = lane.applied(topic)
                if committed.updateValue(applied, forKey: place) != applied {
                    offsets.append(OffsetToCommit(place, offset: applied))
                }
            }
        }
        // One that fails is made good by the next that differs; no figure rests on it.
        if !offsets.isEmpty { _ = consumer.commitLater(offsets) }
    }
}
