internal import Kafka
internal import Lifecycle
internal import Schedules
internal import StageSupport
internal import Topics

/// The thread that reads the replies of other stages to this gateway. It reads one partition of `replies`, from
/// its end at the gateway's start, because no request of this process waits for an older reply. Several gateways may
/// read one partition, and each ignores the replies to the others.
final class ReplyReader: Sendable {
    let partition: TopicPartition
    private let consumer: LoopOwned<ReplyConsumer>
    /// Raised when the partition is read.
    private let hasBegun: AtomicFlag

    /// - Parameter onReplies: Receives replies on this reader's thread.
    init(
        _ environment: StageEnvironment, context: ServiceContext,
        onReplies: @escaping @Sendable ([GatewayReply]) -> Void
    ) throws {
        let partition = TopicPartition(
            environment.layout.name(of: .replies), Int32(Self.partition(of: environment)))
        let hasBegun = AtomicFlag()
        self.partition = partition
        self.hasBegun = hasBegun
        consumer = try LoopOwned(thread: "replies") {
            ReplyConsumer(
                partition, in: environment.cluster, context: context, hasBegun: hasBegun,
                onReplies: onReplies, on: $0.loop)
        }
    }

    /// Returns the partition that a gateway reads: the hash of its Kafka identity.
    static func partition(of environment: StageEnvironment) -> Int {
        let identity = Array(environment.identity(of: "gateway").utf8)
        return Murmur2.partition(
            forKey: identity.span, partitionCount: environment.layout.partitionCount(of: .replies))
    }

    /// Whether this gateway would receive the reply to a command.
    var isReading: Bool { hasBegun.isRaised }

    func stop() { consumer.stop() }
}
