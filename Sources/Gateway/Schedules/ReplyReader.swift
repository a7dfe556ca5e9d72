internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Synchronization
internal import Telemetry
internal import Topics

/// Reads what the scheduler says to this gateway's orders, on a thread of its own: one partition of `replies`, from
/// where it ended when the gateway began. What was said before was said to nobody who still waits.
///
/// `@unchecked Sendable`: what is not constant is touched on the loop only.
final class ReplyReader: EventHandler, @unchecked Sendable {
    private static let askMilliseconds = 2000
    private static let pauseMilliseconds = 1000
    private static let recordsMax = 1000

    let partition: TopicPartition
    private let loop: EventLoop
    private let environment: StageEnvironment
    private let context: ServiceContext
    private let heard: @Sendable ([ScheduleReply]) -> Void
    private let begun = Atomic(false)
    private let reader = JSONReader()
    private var consumer: Consumer?
    private var batch = RecordBatch(recordsMax: ReplyReader.recordsMax)
    private var timer: LoopTimer?

    /// - Parameter heard: told on this reader's thread.
    init(
        _ environment: StageEnvironment, context: ServiceContext,
        heard: @escaping @Sendable ([ScheduleReply]) -> Void
    ) throws {
        self.environment = environment
        self.context = context
        self.heard = heard
        partition = TopicPartition(
            environment.layout.name(.replies), Int32(Self.partition(of: environment)))
        loop = try EventLoop(name: "replies")
        try loop.start()
        loop.execute { self.begin() }
    }

    /// Which partition a gateway reads: by who it is, so that it stays the same.
    static func partition(of environment: StageEnvironment) -> Int {
        let identity = Array(environment.identity(of: "gateway").utf8)
        return Murmur2.partition(of: identity.span, of: environment.layout.partitions(.replies))
    }

    /// Whether an order's reply would be heard.
    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    func stop() { loop.stop() }

    // MARK: On the loop

    private func begin() {
        timer = LoopTimer(on: loop) { [unowned self] in tick() }
        tick()
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
        do {
            let made = try Consumer(
                environment.cluster.settings, options, name: "gateway-replies", log: context.log,
                metrics: context.metrics)
            let end = try made.watermarks(of: partition, withinMilliseconds: Self.askMilliseconds).high
            try made.assign([PartitionStart(partition, .offset(end))])
            try loop.register(made.descriptor, for: .readable, self)
            consumer = made
            begun.store(true, ordering: .releasing)
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
        case .rebuild, .fenced: disconnect()
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
