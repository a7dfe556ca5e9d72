internal import Lifecycle

/// The effects of the delays that a test injects. Without `ClusterDelays`, nothing is delayed or refused.
extension BrokerNode {
    func visibility(of topic: String) -> TopicVisibility {
        settings.clusterDelays?.visibility(of: topic, at: loop.now) ?? .whole
    }

    func refusal(byLeaderOf topic: String, partition: Int32) -> ErrorCode? {
        settings.clusterDelays?.refusal(byLeaderOf: topic, partition: partition, at: loop.now)
    }

    func refusal(ofAppendTo topic: String, partition: Int32) -> ErrorCode? {
        settings.clusterDelays?.refusal(ofAppendTo: topic, partition: partition, at: loop.now)
    }

    func refusal(byCoordinatorOf request: Request) -> ErrorCode? {
        guard let delays = settings.clusterDelays, let call = request.coordinatorCall else { return nil }
        return delays.refusal(by: call, at: loop.now)
    }

    /// Returns whether the deletion of the topic is delayed. If it is, `remove` is called later.
    func delayDeletion(of topic: Topic, remove: @escaping () -> Void) -> Bool {
        if delayedDeletions[topic.name] != nil { return true }
        let milliseconds =
            settings.clusterDelays?.deletionDelayMilliseconds(ofTopic: topic.name, at: loop.now) ?? 0
        guard milliseconds > 0 else { return false }
        let timer = LoopTimer(on: loop) { [unowned self] in
            delayedDeletions[topic.name] = nil
            remove()
        }
        timer.schedule(at: loop.now.advanced(byMilliseconds: milliseconds))
        delayedDeletions[topic.name] = timer
        return true
    }
}

extension BrokerSettings {
    /// Whether a partition takes no transaction marker now. A marker needs the leader and the replicas that a record
    /// needs.
    func refusesMarker(for partition: PartitionID, at now: Instant) -> Bool {
        guard let clusterDelays else { return false }
        let (topic, number) = (partition.topic, partition.partition)
        return clusterDelays.refusal(byLeaderOf: topic, partition: number, at: now) != nil
            || clusterDelays.refusal(ofAppendTo: topic, partition: number, at: now) != nil
    }
}
