internal import Kafka
internal import Lifecycle
internal import Telemetry

/// The reachability of Kafka. A thread asks the cluster regularly, and every acknowledgement also counts as a
/// sign of life.
final class KafkaReach: Sendable {
    private static let askMilliseconds = 2000
    private static let pauseMilliseconds = 3000
    /// The pause before the first answer.
    private static let firstPauseMilliseconds = 100

    private let seenAt: TracedLock<Instant?>
    private let rounds: LoopOwned<Rounds>

    init(_ settings: KafkaSettings, topic: String, metrics: Metrics) throws {
        let seenAt = TracedLock(Instant?.none)
        let admin = try Admin(settings, name: "gateway-reach", log: .silent, metrics: metrics)
        self.seenAt = seenAt
        rounds = try LoopOwned(thread: "kafka reach") { Rounds(admin, topic, seenAt: seenAt, on: $0.loop) }
    }

    func stop() { rounds.stop { $0.end() } }

    func seen(at now: Instant) { seenAt.withLock { $0 = now } }

    func isReachable(at now: Instant) -> Bool {
        guard let seen = seenAt.withLock({ $0 }) else { return false }
        return now.milliseconds(since: seen) < GatewayLimits.silenceMillisecondsMax
    }

    /// The regular request. It blocks its loop, which has no other work.
    private final class Rounds {
        private let admin: Admin
        private let topic: String
        private let seenAt: TracedLock<Instant?>
        private var timer: LoopTimer?

        init(_ admin: Admin, _ topic: String, seenAt: TracedLock<Instant?>, on loop: EventLoop) {
            self.admin = admin
            self.topic = topic
            self.seenAt = seenAt
            timer = LoopTimer(on: loop) { [unowned self] in ask() }
            timer?.schedule(at: loop.now)
        }

        private func ask() {
            if (try? admin.describe(topic, withinMilliseconds: KafkaReach.askMilliseconds)) != nil {
                seenAt.withLock { $0 = .now() }
            }
            let isKnown = seenAt.withLock { $0 } != nil
            let pause = isKnown ? KafkaReach.pauseMilliseconds : KafkaReach.firstPauseMilliseconds
            timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
        }

        func end() { timer?.cancel() }
    }
}
