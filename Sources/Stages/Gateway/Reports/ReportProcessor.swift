internal import CatalogRecords
internal import HTTPServer
internal import Kafka
internal import Lifecycle
internal import Telemetry

/// The state of the `ReportWriter`, confined to its thread: the bodies whose reports are in flight.
final class ReportProcessor {
    struct PendingBody {
        let reply: HTTPReply
        let reports: ValidatedReports
        let byteCount: Int
        let receivedAt: Instant
    }

    let sharedProducer: SharedProducer<PendingBody>
    private let validator: ReportValidator
    private let pendingLimit: PendingRequestLimit
    private let metrics: GatewayMetrics
    private let loop: EventLoop
    private var installationLimiter: RateLimiter

    init(
        _ validator: ReportValidator, _ sharedProducer: SharedProducer<PendingBody>, limits: GatewayLimits,
        pendingLimit: PendingRequestLimit, metrics: GatewayMetrics, on loop: EventLoop
    ) throws {
        self.validator = validator
        self.sharedProducer = sharedProducer
        self.pendingLimit = pendingLimit
        self.metrics = metrics
        self.loop = loop
        installationLimiter = RateLimiter(
            countMax: limits.reportsPerInstallationAndMinuteMax, windowMilliseconds: 60_000,
            entriesMax: GatewayLimits.installationsCountedMax, now: .now())
        sharedProducer.onSettled = { [unowned self] body, isStored in answer(body, isStored: isStored) }
        sharedProducer.onTick = { [unowned self] in reportAge(of: $0) }
        try sharedProducer.start()
    }

    func process(
        _ body: [UInt8], for app: App, role: APIKey.Role, reply: HTTPReply, receivedAt: Instant
    ) {
        var reports: ValidatedReports
        do {
            reports = try validator.validate(body, for: app, role: role)
        } catch {
            pendingLimit.release(bytes: body.count)
            metrics.refusedReports.add()
            return reply.send(ReportsResponse.unreadableBody(error: error))
        }
        // Only report keys, which phones have, are limited by installation.
        let waitMilliseconds = role.includes(.send) ? 0 : limitInstallations(in: &reports)
        metrics.refusedReports.add(reports.refused.count)
        let count = reports.acceptedCount
        guard count > 0 else {
            pendingLimit.release(bytes: body.count)
            return reply.send(ReportsResponse.refused(reports, waitMilliseconds: waitMilliseconds))
        }
        let pending = PendingBody(
            reply: reply, reports: reports, byteCount: body.count, receivedAt: receivedAt)
        sharedProducer.send(pending, records: count) { index, send in
            reports.withRecord(at: index) { key, value in send(0, key, value) }
        }
    }

    /// Refuses reports of installations that exceed their limit. Returns the longest time to wait in
    /// milliseconds.
    private func limitInstallations(in reports: inout ValidatedReports) -> Int {
        let limit = RateLimit.installation(perMinute: installationLimiter.countMax)
        var longestWait = 0
        let now = loop.now
        reports.refuse(beyond: limit) { key in
            var hasher = Hasher()
            unsafe key.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
            guard let wait = installationLimiter.recordRequest(of: hasher.finalize(), now: now) else {
                return false
            }
            longestWait = max(longestWait, wait)
            metrics.countLimited(by: limit)
            return true
        }
        return longestWait
    }

    private func answer(_ body: PendingBody, isStored: Bool) {
        pendingLimit.release(bytes: body.byteCount)
        metrics.batchSeconds.observe(Instant.now().seconds(since: body.receivedAt))
        (isStored ? metrics.acceptedReports : metrics.unstoredReports).add(body.reports.acceptedCount)
        body.reply.send(isStored ? ReportsResponse.accepted(body.reports) : Unavailable.unstored)
    }

    private func reportAge(of waiting: [PendingBody]) {
        let now = Instant.now()
        let oldest = waiting.map(\.receivedAt).min() ?? now
        metrics.setOldest(of: .reports, seconds: now.seconds(since: oldest))
    }
}
