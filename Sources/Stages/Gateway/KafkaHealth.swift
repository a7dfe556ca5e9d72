internal import Kafka
internal import Lifecycle
internal import Telemetry

/// The reachability of Kafka. A thread asks the cluster regularly, and every acknowledgement also counts as a
/// sign of life.
final class KafkaHealth: Sendable {
    private static let probeMilliseconds = 2000
    private static let pauseMilliseconds = 3000
    /// The pause before the first answer.
    private static let firstPauseMilliseconds = 100

    private let seenAt: TracedLock<Instant?>
    private let probe: LoopOwned<HealthProbe>

    init(settings: KafkaSettings, topic: String, metrics: Metrics) throws {
        let answeredAt = TracedLock(Instant?.none)
        let admin = try AdminClient(settings: settings, name: "gateway-reach", log: .silent, metrics: metrics)
        self.seenAt = answeredAt
        probe = try LoopOwned(thread: "kafka reach") {
            HealthProbe(admin: admin, topic: topic, answeredAt: answeredAt, on: $0.loop)
        }
    }

    func stop() { probe.stop { $0.cancel() } }

    func recordAnswer(at now: Instant) { seenAt.withLock { $0 = now } }

    func isReachable(at now: Instant) -> Bool {
        guard let seen = seenAt.withLock({ $0 }) else { return false }
        return now.milliseconds(since: seen) < GatewayLimits.kafkaSilenceMillisecondsMax
    }

    /// The regular request. It blocks its loop, which has no other work.
    private final class HealthProbe {
        private let admin: AdminClient
        private let topic: String
        private let seenAt: TracedLock<Instant?>
        private var timer: LoopTimer?

        init(admin: AdminClient, topic: String, answeredAt: TracedLock<Instant?>, on loop: EventLoop) {
            self.admin = admin
            self.topic = topic
            self.seenAt = answeredAt
            timer = LoopTimer(on: loop) { [unowned self] in probe() }
            timer?.schedule(at: loop.now)
        }

        private func probe() {
            if (try? admin.describe(topic, withinMilliseconds: KafkaHealth.probeMilliseconds)) != nil {
                seenAt.withLock { $0 = .now() }
            }
            let isKnown = seenAt.withLock { $0 } != nil
            let pause = isKnown ? KafkaHealth.pauseMilliseconds : KafkaHealth.firstPauseMilliseconds
            timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
        }

        func cancel() { timer?.cancel() }
    }
}
