internal import HTTPServer
internal import Kafka
internal import Lifecycle
internal import Schedules
internal import StageSupport
internal import Topics

/// The thread for all requests except reports. It decides each request, stores the records of the decision, and
/// answers when all in-sync replicas have them. The server's threads hand requests over.
final class RequestWorker: Sendable {
    typealias Decide = @Sendable (RequestContext) throws(RefusedRequest) -> RequestDecision

    private let pendingLimit: PendingRequestLimit
    private let startStored = AtomicFlag()
    private let processor: LoopOwned<RequestProcessor>

    init(
        _ environment: StageEnvironment, limits: GatewayLimits, pendingLimit: PendingRequestLimit,
        rates: CallerRates, context: ServiceContext, metrics: GatewayMetrics, clock: GatewayClock,
        kafkaHealth: KafkaHealth
    ) throws {
        self.pendingLimit = pendingLimit
        processor = try LoopOwned(thread: "gateway-requests") { [startStored] owner in
            let sharedProducer = try SharedProducer<RequestProcessor.PendingEntry>(
                settings: environment.cluster.settings,
                topicNames: OutgoingRecord.Destination.allCases.map { environment.layout.name(of: $0.topic) },
                limits: limits, on: owner.loop, context: context, clock: clock,
                kafkaHealth: kafkaHealth)
            return try RequestProcessor(
                owner, environment, sharedProducer: sharedProducer, pendingLimit: pendingLimit, rates: rates,
                metrics: metrics, clock: clock, startStored: startStored)
        }
    }

    func stop(by deadline: Instant) async { await processor.stop { $0.sharedProducer.flush(by: deadline) } }

    /// Whether Kafka has acknowledged the start record. From then on the gateway knows the cluster's time.
    var hasStored: Bool { startStored.isRaised }

    /// Takes over a request and the duty to answer it. Returns false, without taking over either, if too many
    /// requests wait or the gateway stops.
    func accept(_ authorized: AuthorizedRequest, as kind: RequestKind, decide: @escaping Decide) -> Bool {
        let (input, bodyBytes) = (RequestInput(authorized.request), authorized.request.body.count)
        let pending = RequestProcessor.PendingRequest(
            caller: authorized.caller, input: input, kind: kind, decide: decide, receivedAt: .now(),
            answer: .client(authorized.reply, bodyBytes: bodyBytes))
        return take(bodyBytes: bodyBytes) { $0.process(pending) }
    }

    /// Takes over a batch of sends in the same way. `decide` decides each send.
    func acceptBatch(_ authorized: AuthorizedRequest, decide: @escaping Decide) -> Bool {
        let batch = RequestProcessor.PendingBatch(
            authorized: authorized, decide: decide, receivedAt: .now())
        return take(bodyBytes: authorized.request.body.count) { $0.process(batch) }
    }

    private func take(
        bodyBytes: Int, process: @escaping @Sendable (RequestProcessor) -> Void
    ) -> Bool {
        guard pendingLimit.reserve(bytes: bodyBytes) else { return false }
        let isTaken = processor.execute { process($0) }
        if !isTaken { pendingLimit.release(bytes: bodyBytes) }
        return isTaken
    }

    /// Handles replies of other stages. Most of them are for other gateways or come too late.
    func handle(_ replies: [GatewayReply]) { processor.execute { $0.handle(replies) } }
}
