package import Broker
package import Lifecycle

/// The weather of one embedded broker: a `ClusterDelayModel` that the broker's threads share.
package final class SeededWeather: ClusterDelays {
    private let model: TracedLock<ClusterDelayModel>

    package init(seed: UInt64) { model = TracedLock(ClusterDelayModel(seed: seed, at: .now())) }

    package func topicWasCreated(_ topic: String, at now: Instant) {
        model.withLock { $0.recordCreation(ofTopic: topic, at: now) }
    }

    package func deletionDelayMilliseconds(ofTopic topic: String, at now: Instant) -> Int {
        model.withLock { $0.deletionDelayMilliseconds() }
    }

    package func visibility(of topic: String, at now: Instant) -> TopicVisibility {
        model.withLock { $0.visibility(of: topic, at: now) }
    }

    package func refusal(byLeaderOf topic: String, partition: Int32, at now: Instant) -> ErrorCode? {
        model.withLock { $0.refusal(byLeaderOf: topic, partition: partition, at: now) }
    }

    package func refusal(ofAppendTo topic: String, partition: Int32, at now: Instant) -> ErrorCode? {
        model.withLock { $0.refusal(ofAppendTo: topic, partition: partition, at: now) }
    }

    package func refusal(by coordinator: CoordinatorCall, at now: Instant) -> ErrorCode? {
        model.withLock { $0.refusal(by: coordinator, at: now) }
    }

    /// Lets a broker with these settings have this weather.
    package func install(in settings: inout BrokerSettings) {
        settings.clusterDelays = self
        settings.responseFaults = { [self] _, _ in nextResponseFault() }
    }

    func isServing(topic: String) -> Bool {
        let now = Instant.now()
        return model.withLock { $0.isServing(topic: topic, at: now) }
    }

    private func nextResponseFault() -> ResponseFault {
        model.withLock { $0.responseDelayMilliseconds() }.map { .delay(milliseconds: $0) } ?? .deliver
    }
}
