internal import Kafka
internal import Lifecycle
internal import Telemetry

/// Whether Kafka can be reached, asked now and then on a thread of its own, and told by every
/// acknowledgement.
///
/// `@unchecked Sendable`: the timer is touched on the loop only, which blocks while it asks and has no
/// other work.
final class KafkaReach: @unchecked Sendable {
    private static let askMilliseconds = 2000
    private static let pauseMilliseconds = 3000
    /// While it has not answered yet.
    private static let firstPauseMilliseconds = 100

    private let loop: EventLoop
    private let admin: Admin
    private let topic: String
    private let seenAt = TracedLock(Instant?.none)
    private var timer: LoopTimer?

    init(_ settings: KafkaSettings, topic: String, metrics: Metrics) throws {
        loop = try EventLoop(name: "kafka reach")
        admin = try Admin(settings, name: "gateway-reach", log: .silent, metrics: metrics)
        self.topic = topic
        try loop.start()
        loop.execute { self.begin() }
    }

    func stop() { loop.stop() }

    func seen(at now: Instant) { seenAt.withLock { $0 = now } }

    func isReachable(at now: Instant) -> Bool {
        guard let seen = seenAt.withLock({ $0 }) else { return false }
        return now.milliseconds(since: seen) < GatewayLimits.silenceMillisecondsMax
    }

    private func begin() {
        timer = LoopTimer(on: loop) { [unowned self] in ask() }
        ask()
    }

    private func ask() {
        if (try? admin.describe(topic, withinMilliseconds: Self.askMilliseconds)) != nil { seen(at: .now()) }
        let isKnown = seenAt.withLock { $0 } != nil
        let pause = isKnown ? Self.pauseMilliseconds : Self.firstPauseMilliseconds
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
    }
}
