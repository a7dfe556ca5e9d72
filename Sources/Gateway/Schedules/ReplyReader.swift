internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Telemetry
internal import Topics

/// Reads what the scheduler says to this gateway's orders, on a thread of its own: one partition of `replies`, from
/// where it ended when the gateway began. What was said before was said to nobody who still waits.
final class ReplyReader: Sendable {
    let partition: TopicPartition
    private let following: LoopOwned<ReplyFollowing>
    private let begun: Flag

    /// - Parameter heard: told on this reader's thread.
    init(
        _ environment: StageEnvironment, context: ServiceContext,
        heard: @escaping @Sendable ([ScheduleReply]) -> Void
    ) throws {
        let partition = TopicPartition(
            environment.layout.name(.replies), Int32(Self.partition(of: environment)))
        let begun = Flag()
        self.partition = partition
        self.begun = begun
        following = try LoopOwned(thread: "replies") {
            ReplyFollowing(
                partition, environment.cluster.settings, context: context, begun: begun, heard: heard,
                on: $0.loop)
        }
    }

    /// Which partition a gateway reads: by who it is, so that it stays the same.
    static func partition(of environment: StageEnvironment) -> Int {
        let identity = Array(environment.identity(of: "gateway").utf8)
        return Murmur2.partition(of: identity.span, of: environment.layout.partitions(.replies))
    }

    /// Whether an order's reply would be heard.
    var hasBegun: Bool { begun.isRaised }

    func stop() { following.stop() }
}

/// The consumer, connected anew when it has failed.
private final class ReplyFollowing: EventHandler {
    private static let askMilliseconds = 2000
    private static let pauseMilliseconds = 1000
    private static let recordsMax = 1000
    /// How long the cluster holds a fetch open: what is new comes at once.
    private static let fetchMilliseconds = 2000

    private let partition: TopicPartition
    private let settings: KafkaSettings
    private let context: ServiceContext
    private let begun: Flag
    private let heard: ([ScheduleReply]) -> Void
    private let loop: EventLoop
    private let reader = JSONReader()
    private var consumer: Consumer?
    private var batch = RecordBatch(recordsMax: ReplyFollowing.recordsMax)
    private var timer: LoopTimer?

    init(
        _ partition: TopicPartition, _ settings: KafkaSettings, context: ServiceContext, begun: Flag,
        heard: @escaping ([ScheduleReply]) -> Void, on loop: EventLoop
    ) {
        self.partition = partition
        self.settings = settings
        self.context = context
        self.begun = begun
        self.heard = heard
        self.loop = loop
        timer = LoopTimer(on: loop) { [unowned self] in tick() }
        timer?.schedule(at: loop.now)
    }

    /// A consumer is polled now and then also when nothing comes.
    private func tick() {
        if consumer == nil { connect() }
        ready(.readable)
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: Self.pauseMilliseconds))
    }

    private func connect() {
        var options = ConsumerOptions(.manual)
        // Who was away for longer than replies are kept has nobody left who waits for them.
        options.outOfRange = .earliest
        options.fetchWaitMilliseconds = Self.fetchMilliseconds
        do {
            let made = try Consumer(
                settings, options, name: "gateway-replies", log: context.log,
                metrics: context.metrics)
            let end = try made.watermarks(of: partition, withinMilliseconds: Self.askMilliseconds).high
            try made.assign([PartitionStart(partition, .offset(end))])
            try loop.register(made.descriptor, for: .readable, self)
            consumer = made
            begun.raise()
        } catch {
            context.log.warning(
                "cannot read the scheduler's replies; orders are answered as under way",
                .field("error", "\(error)"))
        }
    }

    func ready(_ readiness: Readiness) {
        while let consumer {
            let events = consumer.poll(into: &batch)
            let replies = (0..<batch.count).compactMap { index in
                [UInt8](copying: batch[index].value).flatMap { try? ScheduleReply.decode($0, with: reader) }
            }
            let wasEmpty = batch.isEmpty
            batch.clear()
            if !replies.isEmpty { heard(replies) }
            for case .failed(let failure) in events { failed(failure) }
            if wasEmpty { return }
        }
    }

    private func failed(_ failure: ConsumerFailure) {
        context.log.warning("cannot read the scheduler's replies", .field("error", "\(failure)"))
        switch failure {
        case .rebuild: disconnect()
        case .outOfRange, .partition, .client: break
        }
    }

    private func disconnect() {
        guard let consumer else { return }
        loop.deregister(consumer.descriptor)
        batch.clear()
        _ = consumer.close(withinMilliseconds: 500)
        self.consumer = nil
    }

    func loopEnds() {
        timer?.cancel()
        timer = nil
        disconnect()
    }
}
