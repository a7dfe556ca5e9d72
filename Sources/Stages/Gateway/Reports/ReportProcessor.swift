internal import CatalogRecords
internal import HTTPServer
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry

/// The processor of all bodies of reports at a gateway. It checks each body and its rates, sends the valid reports to
/// Kafka, and answers when Kafka has acknowledged them. Confined to the thread of the `ReportWriter`.
final class ReportProcessor {
    /// A body whose reports are in flight to Kafka.
    struct PendingBody {
        let reply: HTTPReply
        let reports: ValidatedReports
        let byteCount: Int
        let receivedAt: Instant
    }

    /// The index of the topic `reports` among the topics of the producer, which has no other.
    private static let reportsTopic = 0
    private static let minuteMilliseconds = 60_000

    let sharedProducer: SharedProducer<PendingBody>
    private let validator: ReportValidator
    let tapAttribution: TapAttribution
    private let pendingLimit: PendingRequestLimit
    private let metrics: GatewayMetrics
    private let loop: EventLoop
    private let rates: CallerRates
    private let delayedRefusals: DelayedRefusals
    /// The rate of reports about each installation.
    private var installationLimiter: RateLimiter
    private var installationQuota: InstallationQuota

    init(
        _ validator: ReportValidator, _ sharedProducer: SharedProducer<PendingBody>, limits: GatewayLimits,
        rates: CallerRates, delayedRefusals: DelayedRefusals, tapAttribution: TapAttribution,
        pendingLimit: PendingRequestLimit,
        metrics: GatewayMetrics, on loop: EventLoop
    ) throws {
        self.tapAttribution = tapAttribution
        self.validator = validator
        self.sharedProducer = sharedProducer
        self.pendingLimit = pendingLimit
        self.metrics = metrics
        self.loop = loop
        self.rates = rates
        self.delayedRefusals = delayedRefusals
        installationLimiter = RateLimiter(
            countMax: limits.reportsPerInstallationAndMinuteMax, windowMilliseconds: Self.minuteMilliseconds,
            entriesMax: GatewayLimits.installationsCountedMax, now: .now())
        installationQuota = InstallationQuota(
            perPeerAndHour: limits.newInstallationsPerPeerAndHourMax, now: .now())
        sharedProducer.onSettled = { [unowned self] body, isStored in answer(body, isStored: isStored) }
        sharedProducer.onTick = { [unowned self] in setOldestAge(of: $0) }
        try sharedProducer.start()
    }

    /// Checks a body, and sends its valid reports to Kafka with the sends behind its taps. Refuses a body that has no valid
    /// report or exceeds a rate.
    func process(_ body: [UInt8], from caller: RequestCaller, reply: HTTPReply, receivedAt: Instant) {
        var reports: ValidatedReports
        do {
            reports = try validator.validate(body, for: caller.app, role: caller.key.role)
        } catch {
            metrics.refusedReports.add()
            return refuse(body, with: ReportsResponse.unreadableBody(error: error), reply: reply)
        }
        let reportCount = reports.acceptedCount + reports.refused.count
        if let exceeded = rates.chargeReports(of: caller, count: reportCount) {
            metrics.refusedReports.add(reportCount)
            metrics.countLimited(by: exceeded.limit)
            pendingLimit.release(bytes: body.count)
            return delayedRefusals.send(
                Unavailable.limited(by: exceeded), beyondRateOf: caller, on: reply)
        }
        limitInstallations(in: &reports, of: caller)
        metrics.refusedReports.add(reports.refused.count)
        guard reports.acceptedCount > 0 else {
            return refuse(body, with: ReportsResponse.refused(reports), reply: reply)
        }
        let byteCount = body.count
        tapAttribution.attribute(reports, of: caller.app.id) { [unowned self] reports in
            send(
                PendingBody(reply: reply, reports: reports, byteCount: byteCount, receivedAt: receivedAt))
        }
    }

    /// Answers a body of which nothing is stored.
    private func refuse(_ body: [UInt8], with response: HTTPResponse, reply: HTTPReply) {
        pendingLimit.release(bytes: body.count)
        reply.send(response)
    }

    /// Sends the accepted reports of a body to Kafka. `answer` follows.
    private func send(_ body: PendingBody) {
        sharedProducer.send(body, records: body.reports.acceptedCount) { index, queue in
            body.reports.withRecord(at: index) { key, value in queue(Self.reportsTopic, nil, key, value) }
        }
    }

    // MARK: Limits of installations

    /// Refuses reports of installations that send too many, or that are too many at one address. These limits apply
    /// only to report keys, which phones have. A private address hides the phones behind it, so it has no quota.
    private func limitInstallations(in reports: inout ValidatedReports, of caller: RequestCaller) {
        guard let peer = caller.countedPeer else { return }
        let isPublic = IPAddress(caller.address)?.isPublic ?? false
        let peerWithQuota = isPublic ? peer : nil
        let now = loop.now
        reports.refuse { key in
            // The key of a report names the app and the installation.
            var hasher = Hasher()
            unsafe key.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
            let installation = hasher.finalize()
            let exceeded = exceededLimit(of: installation, at: peerWithQuota, now: now)
            if let exceeded { metrics.countLimited(by: exceeded.limit) }
            return exceeded
        }
    }

    /// Charges a report to its installation, and the installation to its address.
    ///
    /// - Parameters:
    ///   - installation: The hash of the installation.
    ///   - peer: The network of the address, or nil if it has no quota.
    private func exceededLimit(of installation: Int, at peer: String?, now: Instant) -> ExceededLimit? {
        if let wait = installationLimiter.charge(to: installation, now: now) {
            return ExceededLimit(
                limit: .installationReports, countMax: installationLimiter.countMax, waitMilliseconds: wait)
        }
        return peer.flatMap { installationQuota.charge(installation: installation, at: $0, now: now) }
    }

    // MARK: Events of the producer

    /// Answers a body when all of its reports are acknowledged, or when one may not be stored.
    private func answer(_ body: PendingBody, isStored: Bool) {
        pendingLimit.release(bytes: body.byteCount)
        metrics.batchSeconds.observe(Instant.now().seconds(since: body.receivedAt))
        (isStored ? metrics.acceptedReports : metrics.unstoredReports).add(body.reports.acceptedCount)
        body.reply.send(isStored ? ReportsResponse.accepted(body.reports) : Unavailable.unstored)
    }

    /// Sets the metric of the oldest waiting body, once a second.
    private func setOldestAge(of waiting: [PendingBody]) {
        let now = Instant.now()
        let oldest = waiting.map(\.receivedAt).min() ?? now
        metrics.setOldest(of: .reports, seconds: now.seconds(since: oldest))
    }
}
