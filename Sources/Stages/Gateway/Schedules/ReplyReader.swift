internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Telemetry
internal import Topics

/// The reader of the scheduler's replies to this gateway's orders, on its own thread. It reads one partition
/// of `replies` from the end at the gateway's start. No request of this process waits for an older reply.
final class ReplyReader: Sendable {
    let partition: TopicPartition
    private let consumer: LoopOwned<ReplyConsumer>
    private let begun: AtomicFlag

    /// - Parameter onReplies: Receives replies on this reader's thread.
    init(
        _ environment: StageEnvironment, context: ServiceContext,
        onReplies: @escaping @Sendable ([ScheduleReply]) -> Void
    ) throws {
        let partition = TopicPartition(
            environment.layout.name(of: .replies), Int32(Self.partition(of: environment)))
        let begun = AtomicFlag()
        self.partition = partition
        self.begun = begun
        consumer = try LoopOwned(thread: "replies") {
            ReplyConsumer(
                partition, environment.cluster.settings, context: context, begun: begun, onReplies: onReplies,
                on: $0.loop)
        }
    }

    /// Returns the partition that a gateway reads. It follows from the gateway's identity and stays the same.
    static func partition(of environment: StageEnvironment) -> Int {
        let identity = Array(environment.identity(of: "gateway").utf8)
        return Murmur2.partition(
            forKey: identity.span, partitionCount: environment.layout.partitions(of: .replies))
    }

    /// Whether this gateway would receive the reply to an order.
    var isReading: Bool { begun.isRaised }

    func stop() { consumer.stop() }
}

/// The consumer of replies. It is replaced after a failure.
private final class ReplyConsumer: EventHandler {
    private static let askMilliseconds = 2000
    private static let pauseMilliseconds = 1000
    private static let recordsMax = 1000
    /// The time that the cluster may hold a fetch open. New records end it at once.
    private static let fetchMilliseconds = 2000

    private let partition: TopicPartition
    private let settings: KafkaSettings
    private let context: ServiceContext
    private let begun: AtomicFlag
    private let onReplies: ([ScheduleReply]) -> Void
    private let loop: EventLoop
    private let reader = JSONReader()
    private var consumer: Consumer?
    private var batch = RecordBatch(recordsMax: ReplyConsumer.recordsMax)
    private var timer: LoopTimer?

    init(
        _ partition: TopicPartition, _ settings: KafkaSettings, context: ServiceContext, begun: AtomicFlag,
        onReplies: @escaping ([ScheduleReply]) -> Void, on loop: EventLoop
    ) {
        self.partition = partition
        self.settings = settings
        self.context = context
        self.begun = begun
        self.onReplies = onReplies
        self.loop = loop
        timer = LoopTimer(on: loop) { [unowned self] in poll() }
        timer?.schedule(at: loop.now)
    }

    /// Connects if needed and polls. The consumer must be polled regularly, also without records.
    private func poll() {
        if consumer == nil { connect() }
        didBecomeReady(.readable)
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: Self.pauseMilliseconds))
    }

    private func connect() {
        var options = ConsumerOptions(membership: .manual)
        // After an absence longer than the retention of replies, no request waits for the lost ones.
        options.outOfRange = .earliest
        options.fetchWaitMilliseconds = Self.fetchMilliseconds
        do {
            let newConsumer = try Consumer(
                settings: settings, options: options, name: "gateway-replies", log: context.log,
                metrics: context.metrics)
            let end = try newConsumer.watermarks(of: partition, withinMilliseconds: Self.askMilliseconds).high
            try newConsumer.assign(startingAt: [PartitionStart(partition: partition, position: .offset(end))])
            try loop.register(newConsumer.descriptor, for: .readable, handler: self)
            consumer = newConsumer
            begun.raise()
        } catch {
            context.log.warning(
                "cannot read the scheduler's replies; the gateway answers that orders are under way and reconnects",
                .field("error", "\(error)"))
        }
    }

    func didBecomeReady(_ readiness: Readiness) {
        while let consumer {
            let events = consumer.poll(into: &batch)
            let replies = (0..<batch.count).compactMap { index in
                [UInt8](copying: batch[index].value).flatMap { try? ScheduleReply.decode($0, with: reader) }
            }
            let wasEmpty = batch.isEmpty
            batch.clear()
            if !replies.isEmpty { onReplies(replies) }
            for case .failed(let failure) in events { handle(failure) }
            if wasEmpty { return }
        }
    }

    private func handle(_ failure: ConsumerFailure) {
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

    func loopWillEnd() {
        timer?.cancel()
        timer = nil
        disconnect()
    }
}
