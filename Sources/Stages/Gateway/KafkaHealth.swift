internal import Kafka
internal import Lifecycle

/// The state of Kafka for this gateway: whether it answers. A thread asks the cluster regularly, and every
/// acknowledgement also counts as an answer. If a producer reports that it has lost all brokers, the thread asks at
/// once. If this request gets no answer, Kafka counts as lost until it answers again.
final class KafkaHealth: Sendable {
    /// The longest wait for the answer to a regular request.
    private static let probeMillisecondsMax = 2000
    /// The longest wait for the answer after a producer has lost all brokers.
    static let confirmationMillisecondsMax = 1000
    /// The pause between two regular requests.
    private static let pauseMilliseconds = 3000
    /// The pause until the first answer, and while Kafka is lost, so that the gateway is ready soon.
    private static let shortPauseMilliseconds = 100

    private enum State {
        case unknown
        case answered(at: Instant)
        case lost
    }

    private let state: TracedLock<State>
    private let probe: LoopOwned<HealthProbe>

    init(_ queries: ClusterQueries, topic: String) throws {
        let state = TracedLock(State.unknown)
        self.state = state
        probe = try LoopOwned(thread: "kafka-health") {
            HealthProbe(queries, topic: topic, state: state, on: $0.loop)
        }
    }

    func stop() { probe.stop { $0.cancel() } }

    func recordAnswer(at now: Instant) { state.withLock { $0 = .answered(at: now) } }

    /// Asks the cluster at once, because a producer has lost all brokers.
    func confirmLoss() { probe.execute { $0.confirmLoss() } }

    /// Whether Kafka is not lost and has answered within `GatewayLimits.kafkaSilenceMillisecondsMax`. Otherwise
    /// `Authorization` refuses all requests.
    func isReachable(at now: Instant) -> Bool {
        switch state.withLock({ $0 }) {
        case .unknown, .lost: false
        case .answered(let answeredAt):
            now.milliseconds(since: answeredAt) < GatewayLimits.kafkaSilenceMillisecondsMax
        }
    }

    /// Whether all brokers are lost. Then each `SharedProducer` gives its waiting requests up.
    var isLost: Bool { if case .lost = state.withLock({ $0 }) { true } else { false } }

    /// The requests to the cluster. They block its loop, which has no other work.
    private final class HealthProbe {
        private let queries: ClusterQueries
        private let topic: String
        private let state: TracedLock<State>
        private var timer: LoopTimer?

        init(_ queries: ClusterQueries, topic: String, state: TracedLock<State>, on loop: EventLoop) {
            self.queries = queries
            self.topic = topic
            self.state = state
            timer = LoopTimer(on: loop) { [unowned self] in probe() }
            timer?.schedule(at: loop.now)
        }

        private func probe() {
            _ = askCluster(withinMilliseconds: KafkaHealth.probeMillisecondsMax)
            let pause =
                if case .answered = state.withLock({ $0 }) {
                    KafkaHealth.pauseMilliseconds
                } else {
                    KafkaHealth.shortPauseMilliseconds
                }
            timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
        }

        func confirmLoss() {
            let hasAnswered = askCluster(withinMilliseconds: KafkaHealth.confirmationMillisecondsMax)
            if hasAnswered { return }
            state.withLock { $0 = .lost }
            timer?.schedule(at: .now())
        }

        /// Asks the cluster about the topic and notes an answer. Returns false if none comes in time.
        private func askCluster(withinMilliseconds limit: Int) -> Bool {
            guard queries.doesAnswer(aboutTopic: topic, withinMilliseconds: limit) else { return false }
            state.withLock { $0 = .answered(at: .now()) }
            return true
        }

        func cancel() { timer?.cancel() }
    }
}
