internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import StageSupport
internal import Telemetry
internal import Topics

/// The thread that reads the scheduler's replies to this gateway's commands. It reads one partition of
/// `replies`, from its end at the gateway's start, because no request of this process waits for an older reply.
final class ReplyReader: Sendable {
    let partition: TopicPartition
    private let consumer: LoopOwned<ReplyConsumer>
    private let hasBegun: AtomicFlag

    /// - Parameter onReplies: Receives replies on this reader's thread.
    init(
        _ environment: StageEnvironment, context: ServiceContext,
        onReplies: @escaping @Sendable ([ScheduleReply]) -> Void
    ) throws {
        let partition = TopicPartition(
            environment.layout.name(of: .replies), Int32(Self.partition(of: environment)))
        let hasBegun = AtomicFlag()
        self.partition = partition
        self.hasBegun = hasBegun
        consumer = try LoopOwned(thread: "replies") {
            ReplyConsumer(
                partition, environment.cluster.settings, context: context, hasBegun: hasBegun,
                onReplies: onReplies, on: $0.loop)
        }
    }

    /// Returns the partition that a gateway reads. It depends only on the gateway's identity.
    static func partition(of environment: StageEnvironment) -> Int {
        let identity = Array(environment.identity(of: "gateway").utf8)
        return Murmur2.partition(
            forKey: identity.span, partitionCount: environment.layout.partitionCount(of: .replies))
    }

    /// Whether this gateway would receive the reply to a command.
    var isReading: Bool { hasBegun.isRaised }

    func stop() { consumer.stop() }
}

/// The work of the reader's thread. A consumer that fails is replaced.
private final class ReplyConsumer: EventHandler {
    private static let requestMilliseconds = 2000
    private static let pollMilliseconds = 1000
    private static let recordsMax = 1000
    /// The time that the cluster may hold a fetch open. New records end it at once.
    private static let fetchMilliseconds = 2000

    private let partition: TopicPartition
    private let settings: KafkaSettings
    private let context: ServiceContext
    private let hasBegun: AtomicFlag
    private let onReplies: ([ScheduleReply]) -> Void
    private let loop: EventLoop
    private let reader = JSONReader()
    private var consumer: Consumer?
    private var batch = RecordBatch(recordsMax: ReplyConsumer.recordsMax)
    private var timer: LoopTimer?

    init(
        _ partition: TopicPartition, _ settings: KafkaSettings, context: ServiceContext,
        hasBegun: AtomicFlag, onReplies: @escaping ([ScheduleReply]) -> Void, on loop: EventLoop
    ) {
        self.partition = partition
        self.settings = settings
        self.context = context
        self.hasBegun = hasBegun
        self.onReplies = onReplies
        self.loop = loop
        timer = LoopTimer(on: loop) { [unowned self] in poll() }
        timer?.schedule(at: loop.now)
    }

    /// Connects if needed and polls. The consumer must be polled regularly, also without records.
    private func poll() {
        if consumer == nil { connect() }
        didBecomeReady(.readable)
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: Self.pollMilliseconds))
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
            let end = try newConsumer.watermarks(of: partition, withinMilliseconds: Self.requestMilliseconds)
                .high
            try newConsumer.assign(startingAt: [PartitionStart(partition: partition, position: .offset(end))])
            try loop.register(newConsumer.descriptor, for: .readable, handler: self)
            consumer = newConsumer
            hasBegun.raise()
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
        case .unusable: disconnect()
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
