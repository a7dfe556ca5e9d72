internal import Lifecycle

/// The effects of a test's weather. Without weather, nothing changes.
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
        guard let weather = settings.clusterDelays, let call = request.coordinatorCall else { return nil }
        return weather.refusal(by: call, at: loop.now)
    }

    /// Whether the topic stays for a while although its deletion was answered. `remove` deletes it then.
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
