internal import JSON
package import Kafka
package import Lifecycle
internal import LiveActivity
package import Telemetry

/// Tells `members` what this process says of itself, again and again. Confined to its loop.
package final class MemberAnnouncer {
    /// It is said again so often: what the topic lets go after a day stays, and a record that was lost is made good.
    package static let repeatMilliseconds = 10_000
    private static let lastWordMilliseconds = 2000

    private let producer: Producer
    private let topic: Topic
    private let loop: EventLoop
    private var make: (() -> any Announcement)?
    private var key: [UInt8]?
    private var timer: LoopTimer?
    private var deliveries: [Delivery] = []

    package init(
        _ settings: KafkaSettings, topic: String, on loop: EventLoop, log: Log, metrics: Metrics
    ) throws {
        producer = try Producer(settings, name: "members", log: log, metrics: metrics)
        self.topic = try producer.topic(topic)
        self.loop = loop
    }

    /// - Parameter make: asked each time that it is said.
    package func announce(_ make: @escaping () -> any Announcement) {
        self.make = make
        say()
    }

    private func say() {
        guard var said = make?() else { return }
        said.at = WallTime.now().milliseconds
        let (key, value) = (said.key, said.encoded())
        self.key = key
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

    /// Takes it back: nobody shall ask this process any more.
    package func end() {
        timer?.cancel()
        // Whoever is asked holds this, too.
        make = nil
        guard let key else { return }
        _ = producer.send(to: topic, key: key.span, value: nil, tag: 0)
        _ = producer.flush(withinMilliseconds: Self.lastWordMilliseconds, into: &deliveries)
    }
}
