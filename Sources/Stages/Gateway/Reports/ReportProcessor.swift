internal import CatalogRecords
internal import HTTPServer
internal import Kafka
internal import Lifecycle
internal import Telemetry

/// The processor of all bodies of reports at a gateway. It sends the reports that `ReportAdmission` accepts to Kafka, and
/// answers when Kafka has acknowledged them. Confined to the thread of the `ReportWriter`.
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

    let sharedProducer: SharedProducer<PendingBody>
    private var admission: ReportAdmission
    let tapAttribution: TapAttribution
    private let pendingLimit: PendingRequestLimit
    private let metrics: GatewayMetrics
    private let loop: EventLoop
    private let delayedRefusals: DelayedRefusals

    init(
        _ admission: ReportAdmission, _ sharedProducer: SharedProducer<PendingBody>,
        delayedRefusals: DelayedRefusals, tapAttribution: TapAttribution, pendingLimit: PendingRequestLimit,
        metrics: GatewayMetrics, on loop: EventLoop
    ) throws {
        self.tapAttribution = tapAttribution
        self.admission = admission
        self.sharedProducer = sharedProducer
        self.pendingLimit = pendingLimit
        self.metrics = metrics
        self.loop = loop
        self.delayedRefusals = delayedRefusals
        sharedProducer.onSettled = { [unowned self] body, isStored in answer(body, isStored: isStored) }
        sharedProducer.onTick = { [unowned self] in setOldestAge(of: $0) }
        try sharedProducer.start()
    }

    /// Checks a body, and sends its valid reports to Kafka with the sends behind its taps. Refuses a body that has no valid
    /// report or exceeds a rate.
    func process(_ body: [UInt8], from caller: RequestCaller, reply: HTTPReply, receivedAt: Instant) {
        let reports: ValidatedReports
        switch admission.decide(body, from: caller, at: loop.now) {
        case .unreadable(let error):
            metrics.refusedReports.add()
            return refuse(body, with: ReportsResponse.unreadableBody(error: error), reply: reply)
        case .limited(let exceeded, let reportCount):
            metrics.refusedReports.add(reportCount)
            metrics.countLimited(by: exceeded.limit)
            pendingLimit.release(bytes: body.count)
            return delayedRefusals.send(
                Unavailable.limited(by: exceeded), beyondRateOf: caller, on: reply)
        case .checked(let checked): reports = checked
        }
        for refused in reports.refused {
            if let exceeded = refused.limit { metrics.countLimited(by: exceeded.limit) }
        }
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
