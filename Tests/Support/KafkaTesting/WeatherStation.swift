package import Broker
package import Lifecycle

/// The weather of one broker during its run.
package final class WeatherStation: ClusterDelays {
    private let weather: TracedLock<Weather>

    package init(seed: UInt64) { weather = TracedLock(Weather(seed: seed, at: .now())) }

    package func topicWasCreated(_ topic: String, at now: Instant) {
        weather.withLock { $0.created(topic, at: now) }
    }

    package func deletionDelayMilliseconds(ofTopic topic: String, at now: Instant) -> Int {
        weather.withLock { $0.lingersMilliseconds() }
    }

    package func visibility(of topic: String, at now: Instant) -> TopicVisibility {
        weather.withLock { $0.sight(of: topic, at: now) }
    }

    package func refusal(byLeaderOf topic: String, partition: Int32, at now: Instant) -> ErrorCode? {
        weather.withLock { $0.refusal(byLeaderOf: topic, partition, at: now) }
    }

    package func refusal(ofAppendTo topic: String, partition: Int32, at now: Instant) -> ErrorCode? {
        weather.withLock { $0.refusal(ofAppendTo: topic, partition, at: now) }
    }

    package func refusal(by coordinator: CoordinatorCall, at now: Instant) -> ErrorCode? {
        weather.withLock { $0.refusal(by: coordinator, at: now) }
    }

    package func stand(over settings: inout BrokerSettings) {
        settings.clusterDelays = self
        settings.responseFaults = { [self] _, _ in fault() }
    }

    func isServing(_ topic: String) -> Bool {
        let now = Instant.now()
        return weather.withLock { $0.isServing(topic, at: now) }
    }

    private func fault() -> ResponseFault {
        weather.withLock { $0.delayMilliseconds() }.map { .delay(milliseconds: $0) } ?? .deliver
    }
}
