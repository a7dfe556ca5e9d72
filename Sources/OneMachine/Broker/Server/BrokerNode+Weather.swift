internal import Lifecycle

/// The effects of a test's weather. Without weather, nothing changes.
extension BrokerNode {
    func sight(of topic: String) -> TopicSight {
        settings.weather?.sight(of: topic, at: loop.now) ?? .whole
    }

    func refusal(byLeaderOf topic: String, _ partition: Int32) -> ErrorCode? {
        settings.weather?.refusal(byLeaderOf: topic, partition, at: loop.now)
    }

    func refusal(ofAppendTo topic: String, _ partition: Int32) -> ErrorCode? {
        settings.weather?.refusal(ofAppendTo: topic, partition, at: loop.now)
    }

    func refusal(byCoordinatorOf request: Request) -> ErrorCode? {
        guard let weather = settings.weather, let call = request.coordinatorCall else { return nil }
        return weather.refusal(by: call, at: loop.now)
    }

    /// Whether the topic stays for a while although its deletion was answered. `remove` deletes it then.
    func lets(_ topic: Topic, linger remove: @escaping () -> Void) -> Bool {
        if lingering[topic.name] != nil { return true }
        let milliseconds = settings.weather?.lingersMilliseconds(topic.name, at: loop.now) ?? 0
        guard milliseconds > 0 else { return false }
        let timer = LoopTimer(on: loop) { [unowned self] in
            lingering[topic.name] = nil
            remove()
        }
        timer.schedule(at: loop.now.advanced(byMilliseconds: milliseconds))
        lingering[topic.name] = timer
        return true
    }
}
