internal import HTTPServer
internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import TokenSealing

/// The thread for reports. It checks the body of each request, and sends the reports of all requests to Kafka
/// through one producer. It answers a request when all in-sync replicas have every valid report of its body.
final class ReportWriter: Sendable {
    private let pendingLimit: PendingRequestLimit
    private let processor: LoopOwned<ReportProcessor>

    var loop: EventLoop { processor.loop }

    /// - Parameters:
    ///   - sealingKeys: The keys for tokens. Nil writes tokens in clear text.
    ///   - findTapOrigin: Asks for the send behind a tap.
    init(
        _ settings: KafkaSettings, topic: String, sealingKeys: SealingKeys?, limits: GatewayLimits,
        rates: CallerRates, pendingLimit: PendingRequestLimit, context: ServiceContext,
        metrics: GatewayMetrics,
        clock: GatewayClock, findTapOrigin: @escaping TapAttribution.FindOrigin = { _, _, _ in false },
        kafkaHealth: KafkaHealth
    ) throws {
        self.pendingLimit = pendingLimit
        processor = try LoopOwned(thread: "gateway", priority: .background) { owner in
            let sharedProducer = try SharedProducer<ReportProcessor.PendingBody>(
                settings: settings, topicNames: [topic], limits: limits, on: owner.loop, context: context,
                clock: clock, kafkaHealth: kafkaHealth)
            let tapAttribution = TapAttribution(on: owner.loop, findOrigin: findTapOrigin) {
                [weak owner] body, index, origin in
                owner?.execute { $0.tapAttribution.receive(origin, forTapAt: index, ofBody: body) }
            }
            let admission = ReportAdmission(
                validator: ReportValidator(sealingKeys: sealingKeys, now: { clock.now }), rates: rates,
                limits: limits, now: owner.loop.now)
            return try ReportProcessor(
                admission, sharedProducer, delayedRefusals: DelayedRefusals(on: owner.loop),
                tapAttribution: tapAttribution, pendingLimit: pendingLimit, metrics: metrics, on: owner.loop)
        }
    }

    func stop(by deadline: Instant) async {
        await processor.stop {
            $0.tapAttribution.stop()
            $0.sharedProducer.flush(by: deadline)
        }
    }

    /// Runs a job with the producer. Tests use it to raise a producer error.
    func withProducer(_ job: @escaping @Sendable (Producer) -> Void) {
        _ = processor.perform { job($0.sharedProducer.producer) }
    }

    /// Takes over a body and the duty to answer it. Returns false, without taking over either, if too many
    /// requests wait or the gateway stops.
    func accept(_ body: [UInt8], from caller: RequestCaller, reply: HTTPReply) -> Bool {
        guard pendingLimit.reserve(bytes: body.count) else { return false }
        let receivedAt = Instant.now()
        let isTaken = processor.execute {
            $0.process(body, from: caller, reply: reply, receivedAt: receivedAt)
        }
        if !isTaken { pendingLimit.release(bytes: body.count) }
        return isTaken
    }
}
