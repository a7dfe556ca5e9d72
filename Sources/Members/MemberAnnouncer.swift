internal import JSON
package import Kafka
package import Lifecycle
internal import LiveActivity
package import Telemetry

/// Tells `members` which lanes this process answers for. Confined to its loop.
package final class MemberAnnouncer {
    /// It is said again so often: what the topic lets go after a day stays, and a record that was lost is made good.
    package static let repeatMilliseconds = 10_000
    private static let lastWordMilliseconds = 2000

    private let producer: Producer
    private let topic: Topic
    private let loop: EventLoop
    private var member: Member?
    private var timer: LoopTimer?
    private var deliveries: [Delivery] = []

    package init(
        _ settings: KafkaSettings, topic: String, on loop: EventLoop, log: Log, metrics: Metrics
    ) throws {
        producer = try Producer(settings, name: "members", log: log, metrics: metrics)
        self.topic = try producer.topic(topic)
        self.loop = loop
    }

    package func announce(_ member: Member) {
        self.member = member
        say()
    }

    private func say() {
        guard var member else { return }
        member.at = WallTime.now().milliseconds
        let (key, value) = (member.key, member.encoded())
        _ = producer.send(to: topic, key: key.span, value: value.span, tag: 0)
        collect()
        let timer = self.timer ?? LoopTimer(on: loop) { [unowned self] in say() }
        self.timer = timer
        timer.schedule(at: Instant.now().advanced(byMilliseconds: Self.repeatMilliseconds))
    }

    private func collect() {
        _ = producer.collect(into: &deliveries)
        deliveries.removeAll(keepingCapacity: true)
    }

    /// Nobody shall ask this process any more.
    package func end() {
        timer?.cancel()
        guard let member else { return }
        let key = member.key
        _ = producer.send(to: topic, key: key.span, value: nil, tag: 0)
        _ = producer.flush(withinMilliseconds: Self.lastWordMilliseconds, into: &deliveries)
    }
}
