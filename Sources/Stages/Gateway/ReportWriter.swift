internal import HTTPServer
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// The writer of reports. It checks the bodies of many requests and sends their reports to Kafka through one
/// outbox. It answers only when all in-sync replicas have every report of a body.
final class ReportWriter: Sendable {
    private let pendingLimit: PendingRequestLimit
    private let processor: LoopOwned<ReportProcessor>

    var loop: EventLoop { processor.loop }

    /// - Parameters:
    ///   - sealingKeys: The keys for tokens. Nil writes tokens in clear text.
    ///   - seen: Runs after each acknowledgement from Kafka.
    init(
        _ settings: KafkaSettings, topic name: String, sealingKeys: SealingKeys?, limits: GatewayLimits,
        pendingLimit: PendingRequestLimit, context: ServiceContext, metrics: GatewayMetrics,
        clock: GatewayClock,
        seen: @escaping @Sendable () -> Void
    ) throws {
        self.pendingLimit = pendingLimit
        processor = try LoopOwned(thread: "gateway") {
            let sharedProducer = try SharedProducer<ReportProcessor.PendingBody>(
                settings: settings, topics: [name], limits: limits, on: $0.loop, context: context,
                clock: clock,
                onAcknowledgement: seen)
            return try ReportProcessor(
                ReportValidator(sealingKeys: sealingKeys), sharedProducer, limits: limits,
                pendingLimit: pendingLimit, metrics: metrics,
                on: $0.loop)
        }
    }

    func stop(by deadline: Instant) async { await processor.stop { $0.sharedProducer.flush(by: deadline) } }

    /// Runs a job with the producer. Tests use it to raise a producer error.
    func withProducer(_ job: @escaping @Sendable (Producer) -> Void) {
        _ = processor.perform { job($0.sharedProducer.producer) }
    }

    /// Takes over a body and the duty to answer it. Returns false, without taking over either, if too many
    /// requests wait.
    func accept(_ body: [UInt8], for app: App, role: APIKey.Role, reply: HTTPReply) -> Bool {
        guard pendingLimit.reserve(bytes: body.count) else { return false }
        let began = Instant.now()
        processor.execute { $0.process(body, for: app, role: role, reply: reply, began: began) }
        return true
    }
}

/// The state of the writer, confined to its thread.
private final class ReportProcessor {
    struct PendingBody {
        let reply: HTTPReply
        let judged: ValidatedReports
        let bodyBytes: Int
        let began: Instant
    }

    let sharedProducer: SharedProducer<PendingBody>
    private let validator: ReportValidator
    private let pendingLimit: PendingRequestLimit
    private let metrics: GatewayMetrics
    private let loop: EventLoop
    private var installationLimiter: RateLimiter

    init(
        _ judge: ReportValidator, _ outbox: SharedProducer<PendingBody>, limits: GatewayLimits,
        pendingLimit: PendingRequestLimit,
        metrics: GatewayMetrics, on loop: EventLoop
    ) throws {
        self.validator = judge
        self.sharedProducer = outbox
        self.pendingLimit = pendingLimit
        self.metrics = metrics
        self.loop = loop
        installationLimiter = RateLimiter(
            countMax: limits.reportsPerInstallationAndMinuteMax, windowMilliseconds: 60_000,
            entriesMax: GatewayLimits.installationsCountedMax, now: .now())
        outbox.onSettled = { [unowned self] request, isStored in answer(request, isStored: isStored) }
        outbox.onTick = { [unowned self] in reportAge(of: $0) }
        try outbox.start()
    }

    func process(
        _ body: [UInt8], for app: App, role: APIKey.Role, reply: HTTPReply, began: Instant
    ) {
        var judged: ValidatedReports
        do {
            judged = try validator.validate(body, for: app, role: role)
        } catch {
            pendingLimit.release(bytes: body.count)
            metrics.refused.add()
            return reply.send(ReportsResponse.unreadableBody(error: error))
        }
        let wait = role.includes(.send) ? 0 : limitInstallations(in: &judged)
        metrics.refused.add(judged.refused.count)
        let count = judged.acceptedCount
        guard count > 0 else {
            pendingLimit.release(bytes: body.count)
            return reply.send(ReportsResponse.refused(judged, waitMilliseconds: wait))
        }
        let request = PendingBody(reply: reply, judged: judged, bodyBytes: body.count, began: began)
        sharedProducer.send(request, records: count) { index, send in
            judged.withRecord(at: index) { key, value in send(0, key, value) }
        }
    }

    /// Refuses reports of installations that exceed their limit. Returns the longest time to wait in
    /// milliseconds.
    private func limitInstallations(in judged: inout ValidatedReports) -> Int {
        let limit = RateLimit.installation(perMinute: installationLimiter.countMax)
        var longest = 0
        let now = loop.now
        judged.refuse(beyond: limit) { key in
            var hasher = Hasher()
            unsafe key.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
            guard let wait = installationLimiter.recordRequest(of: hasher.finalize(), now: now) else {
                return false
            }
            longest = max(longest, wait)
            metrics.countLimited(by: limit)
            return true
        }
        return longest
    }

    private func answer(_ request: PendingBody, isStored: Bool) {
        pendingLimit.release(bytes: request.bodyBytes)
        metrics.batchSeconds.observe(Instant.now().seconds(since: request.began))
        (isStored ? metrics.accepted : metrics.unstored).add(request.judged.acceptedCount)
        request.reply.send(isStored ? ReportsResponse.accepted(request.judged) : Unavailable.unstored)
    }

    private func reportAge(of waiting: [PendingBody]) {
        let now = Instant.now()
        let oldest = waiting.map(\.began).min() ?? now
        metrics.setOldest(of: .reports, seconds: now.seconds(since: oldest))
    }
}
