internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import Telemetry

/// The reader of replies in the `ReplyReader`, confined to its thread. A reader that fails is replaced by a new one,
/// which again starts at the end of the partition.
final class ReplyConsumer: EventHandler {
    private static let requestMilliseconds = 2000
    /// The time between two polls without records. Records arrive at once through `didBecomeReady`.
    private static let pollMilliseconds = 1000
    /// The records of one poll.
    private static let recordsMax = 1000

    private let partition: TopicPartition
    private let cluster: Cluster
    private let context: ServiceContext
    /// Raised when the first consumer reads the partition.
    private let hasBegun: AtomicFlag
    private let onReplies: ([GatewayReply]) -> Void
    private let loop: EventLoop
    private let jsonReader = JSONReader()
    private var topicReader: PartitionReader?
    private var batch = RecordBatch(recordsMax: ReplyConsumer.recordsMax)
    private var timer: LoopTimer?

    init(
        _ partition: TopicPartition, in cluster: Cluster, context: ServiceContext,
        hasBegun: AtomicFlag, onReplies: @escaping ([GatewayReply]) -> Void, on loop: EventLoop
    ) {
        self.partition = partition
        self.cluster = cluster
        self.context = context
        self.hasBegun = hasBegun
        self.onReplies = onReplies
        self.loop = loop
        timer = LoopTimer(on: loop) { [unowned self] in poll() }
        timer?.schedule(at: loop.now)
    }

    /// Connects if needed and polls. The reader must be polled regularly, also without records.
    private func poll() {
        if topicReader == nil { connect() }
        didBecomeReady(.readable)
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: Self.pollMilliseconds))
    }

    /// Makes a reader that reads the partition from its end. After a failure the next poll tries again.
    private func connect() {
        do {
            // The position is out of range after an absence longer than the retention of replies. No request waits for
            // the deleted replies, so the reader continues at the earliest.
            let newReader = try cluster.makeReader(
                of: partition.topic, outOfRange: .earliest, log: context.log, metrics: context.metrics)
            let watermarks = try newReader.watermarks(
                of: partition, withinMilliseconds: Self.requestMilliseconds)
            let start = PartitionStart(partition: partition, position: .offset(watermarks.high))
            newReader.assign(startingAt: [start])
            try loop.register(newReader.descriptor, for: .readable, handler: self)
            topicReader = newReader
            hasBegun.raise()
        } catch {
            context.log.warning(
                "cannot read the replies of the scheduler and the planner; the gateway answers without them and reconnects",
                .field("error", "\(error)"))
        }
    }

    /// Passes all replies on that have arrived. A record that is no reply is ignored.
    func didBecomeReady(_ readiness: Readiness) {
        while let topicReader {
            let events = topicReader.poll(into: &batch)
            let replies = (0..<batch.count).compactMap { index in
                [UInt8](copying: batch[index].value).flatMap {
                    try? GatewayReply.decode($0, with: jsonReader)
                }
            }
            let wasEmpty = batch.isEmpty
            batch.clear()
            if !replies.isEmpty { onReplies(replies) }
            for case .failed(let failure) in events { recover(from: failure) }
            if wasEmpty { return }
        }
    }

    private func recover(from failure: ConsumerFailure) {
        context.log.warning(
            "cannot read the replies of the scheduler and the planner", .field("error", "\(failure)"))
        switch failure {
        // The next poll connects again.
        case .unusable: disconnect()
        case .outOfRange, .partition, .client: break
        }
    }

    private func disconnect() {
        guard let topicReader else { return }
        loop.deregister(topicReader.descriptor)
        batch.clear()
        topicReader.close()
        self.topicReader = nil
    }

    func loopWillEnd() {
        timer?.cancel()
        timer = nil
        disconnect()
    }
}
