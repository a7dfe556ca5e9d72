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
    private let rates: CallerRates
    private var installationLimiter: RateLimiter
    private var installationQuota: InstallationQuota

    init(
        _ validator: ReportValidator, _ sharedProducer: SharedProducer<PendingBody>, limits: GatewayLimits,
        rates: CallerRates, pendingLimit: PendingRequestLimit, metrics: GatewayMetrics, on loop: EventLoop
    ) throws {
        self.validator = validator
        self.sharedProducer = sharedProducer
        self.pendingLimit = pendingLimit
        self.metrics = metrics
        self.loop = loop
        self.rates = rates
        installationLimiter = RateLimiter(
            countMax: limits.reportsPerInstallationAndMinuteMax, windowMilliseconds: 60_000,
            entriesMax: GatewayLimits.installationsCountedMax, now: .now())
        installationQuota = InstallationQuota(
            perPeerAndHour: limits.newInstallationsPerPeerAndHourMax, now: .now())
        sharedProducer.onSettled = { [unowned self] body, isStored in answer(body, isStored: isStored) }
        sharedProducer.onTick = { [unowned self] in reportAge(of: $0) }
        try sharedProducer.start()
    }

    func process(_ body: [UInt8], from caller: RequestCaller, reply: HTTPReply, receivedAt: Instant) {
        var reports: ValidatedReports
        do {
            reports = try validator.validate(body, for: caller.app, role: caller.key.role)
        } catch {
            pendingLimit.release(bytes: body.count)
            metrics.refusedReports.add()
            return reply.send(ReportsResponse.unreadableBody(error: error))
        }
        let reportCount = reports.acceptedCount + reports.refused.count
        if let exceeded = rates.chargeReports(of: caller, count: reportCount) {
            pendingLimit.release(bytes: body.count)
            metrics.refusedReports.add(reportCount)
            metrics.countLimited(by: exceeded.limit)
            return reply.send(Unavailable.limited(by: exceeded))
        }
        limitInstallations(in: &reports, of: caller)
        metrics.refusedReports.add(reports.refused.count)
        let count = reports.acceptedCount
        guard count > 0 else {
            pendingLimit.release(bytes: body.count)
            return reply.send(ReportsResponse.refused(reports))
        }
        let pending = PendingBody(
            reply: reply, reports: reports, byteCount: body.count, receivedAt: receivedAt)
        sharedProducer.send(pending, records: count) { index, send in
            reports.withRecord(at: index) { key, value in send(0, key, value) }
        }
    }

    /// Refuses reports of installations that send too many, or that are too many at one address. These limits apply
    /// only to report keys, which phones have. The limit of an address needs a public one, which is a phone's own.
    private func limitInstallations(in reports: inout ValidatedReports, of caller: RequestCaller) {
        guard let peer = caller.countedPeer else { return }
        let isPeerKnown = IPAddress(caller.address)?.isPublic ?? false
        let now = loop.now
        reports.refuse { key in
            var hasher = Hasher()
            unsafe key.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
            let installation = hasher.finalize()
            let exceeded = exceededLimit(
                of: installation, at: isPeerKnown ? peer : nil, now: now)
            if let exceeded { metrics.countLimited(by: exceeded.limit) }
            return exceeded
        }
    }

    private func exceededLimit(of installation: Int, at peer: String?, now: Instant) -> ExceededLimit? {
        if let wait = installationLimiter.charge(to: installation, now: now) {
            return ExceededLimit(
                limit: .installationReports, countMax: installationLimiter.countMax, waitMilliseconds: wait)
        }
        return peer.flatMap { installationQuota.charge(installation: installation, at: $0, now: now) }
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
