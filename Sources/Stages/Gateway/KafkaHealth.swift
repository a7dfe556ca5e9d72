internal import Kafka
internal import Lifecycle
internal import Telemetry

/// The time of Kafka's last answer to this gateway, which shows whether Kafka is reachable. A thread asks the cluster
/// regularly, and every acknowledgement also counts as an answer.
final class KafkaHealth: Sendable {
    private static let probeMillisecondsMax = 2000
    private static let pauseMilliseconds = 3000
    /// The pause until the first answer, so that the gateway is ready soon.
    private static let firstPauseMilliseconds = 100

    private let lastAnswerAt: TracedLock<Instant?>
    private let probe: LoopOwned<HealthProbe>

    init(settings: KafkaSettings, topic: String, metrics: Metrics) throws {
        let lastAnswerAt = TracedLock(Instant?.none)
        let admin = try AdminClient(settings: settings, name: "gateway-reach", log: .silent, metrics: metrics)
        self.lastAnswerAt = lastAnswerAt
        probe = try LoopOwned(thread: "kafka reach") {
            HealthProbe(admin: admin, topic: topic, lastAnswerAt: lastAnswerAt, on: $0.loop)
        }
    }

    func stop() { probe.stop { $0.cancel() } }

    func recordAnswer(at now: Instant) { lastAnswerAt.withLock { $0 = now } }

    func isReachable(at now: Instant) -> Bool {
        guard let answeredAt = lastAnswerAt.withLock({ $0 }) else { return false }
        return now.milliseconds(since: answeredAt) < GatewayLimits.kafkaSilenceMillisecondsMax
    }

    /// The regular request to the cluster. It blocks its loop, which has no other work.
    private final class HealthProbe {
        private let admin: AdminClient
        private let topic: String
        private let lastAnswerAt: TracedLock<Instant?>
        private var timer: LoopTimer?

        init(admin: AdminClient, topic: String, lastAnswerAt: TracedLock<Instant?>, on loop: EventLoop) {
            self.admin = admin
            self.topic = topic
            self.lastAnswerAt = lastAnswerAt
            timer = LoopTimer(on: loop) { [unowned self] in probe() }
            timer?.schedule(at: loop.now)
        }

        private func probe() {
            if (try? admin.describe(topic, withinMilliseconds: KafkaHealth.probeMillisecondsMax)) != nil {
                lastAnswerAt.withLock { $0 = .now() }
            }
            let hasAnswered = lastAnswerAt.withLock { $0 } != nil
            let pause = hasAnswered ? KafkaHealth.pauseMilliseconds : KafkaHealth.firstPauseMilliseconds
            timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
        }

        func cancel() { timer?.cancel() }
    }
}
