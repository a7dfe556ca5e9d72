internal import HTTPServer
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// The writer of reports. It checks the bodies of many requests and sends their reports to Kafka through one
/// outbox. It answers only when all in-sync replicas have every report of a body.
final class ReportWriter: Sendable {
    private let waitingRoom: WaitingRoom
    private let desk: LoopOwned<ReportDesk>

    var loop: EventLoop { desk.loop }

    /// - Parameters:
    ///   - sealingKeys: The keys for tokens. Nil writes tokens in clear text.
    ///   - seen: Runs after each acknowledgement from Kafka.
    init(
        _ settings: KafkaSettings, topic name: String, sealingKeys: SealingKeys?, limits: GatewayLimits,
        waitingRoom: WaitingRoom, context: ServiceContext, metrics: GatewayMetrics,
        clock: GatewayClock,
        seen: @escaping @Sendable () -> Void
    ) throws {
        self.waitingRoom = waitingRoom
        desk = try LoopOwned(thread: "gateway") {
            let outbox = try Outbox<ReportDesk.Waiting>(
                settings, topics: [name], limits: limits, on: $0.loop, context: context, clock: clock,
                seen: seen)
            return try ReportDesk(
                ReportJudge(sealingKeys), outbox, limits: limits, waitingRoom: waitingRoom, metrics: metrics,
                on: $0.loop)
        }
    }

    func stop(by deadline: Instant) async { await desk.stop { $0.outbox.flush(by: deadline) } }

    /// Runs a job with the producer. Tests use it to raise a producer error.
    func perform(_ job: @escaping @Sendable (Producer) -> Void) {
        _ = desk.perform { job($0.outbox.producer) }
    }

    /// Takes over a body and the duty to answer it. Returns false, without taking over either, if too many
    /// requests wait.
    func take(_ body: [UInt8], for app: App, as role: APIKey.Role, _ reply: HTTPReply) -> Bool {
        guard waitingRoom.enter(bytes: body.count) else { return false }
        let began = Instant.now()
        desk.execute { $0.send(body, for: app, as: role, reply, began: began) }
        return true
    }
}

/// The state of the writer, confined to its thread.
private final class ReportDesk {
    struct Waiting {
        let reply: HTTPReply
        let judged: JudgedReports
        let bodyBytes: Int
        let began: Instant
    }

    let outbox: Outbox<Waiting>
    private let judge: ReportJudge
    private let waitingRoom: WaitingRoom
    private let metrics: GatewayMetrics
    private let loop: EventLoop
    private var installations: RateTable

    init(
        _ judge: ReportJudge, _ outbox: Outbox<Waiting>, limits: GatewayLimits, waitingRoom: WaitingRoom,
        metrics: GatewayMetrics, on loop: EventLoop
    ) throws {
        self.judge = judge
        self.outbox = outbox
        self.waitingRoom = waitingRoom
        self.metrics = metrics
        self.loop = loop
        installations = RateTable(
            countMax: limits.reportsPerInstallationAndMinuteMax, windowMilliseconds: 60_000,
            entriesMax: GatewayLimits.installationsCountedMax, now: .now())
        outbox.settled = { [unowned self] request, isStored in answer(request, isStored: isStored) }
        outbox.watched = { [unowned self] in watch($0) }
        try outbox.start()
    }

    func send(
        _ body: [UInt8], for app: App, as role: APIKey.Role, _ reply: HTTPReply, began: Instant
    ) {
        var judged: JudgedReports
        do {
            judged = try judge.judge(body, for: app, as: role)
        } catch {
            waitingRoom.leave(bytes: body.count)
            metrics.refused.add()
            return reply.send(ReportsAnswer.unreadable(error))
        }
        let wait = role.includes(.send) ? 0 : limitInstallations(&judged)
        metrics.refused.add(judged.refused.count)
        let count = judged.acceptedCount
        guard count > 0 else {
            waitingRoom.leave(bytes: body.count)
            return reply.send(ReportsAnswer.refused(judged, waitMilliseconds: wait))
        }
        let request = Waiting(reply: reply, judged: judged, bodyBytes: body.count, began: began)
        outbox.send(request, records: count) { index, send in
            judged.withRecord(index) { key, value in send(0, key, value) }
        }
    }

    /// Refuses reports of installations that exceed their limit. Returns the longest time to wait in
    /// milliseconds.
    private func limitInstallations(_ judged: inout JudgedReports) -> Int {
        let limit = RateLimit.installation(perMinute: installations.countMax)
        var longest = 0
        let now = loop.now
        judged.refuse(beyond: limit) { key in
            var hasher = Hasher()
            unsafe key.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
            guard let wait = installations.take(hasher.finalize(), now: now) else { return false }
            longest = max(longest, wait)
            metrics.limited(limit)
            return true
        }
        return longest
    }

    private func answer(_ request: Waiting, isStored: Bool) {
        waitingRoom.leave(bytes: request.bodyBytes)
        metrics.seconds.observe(Instant.now().seconds(since: request.began))
        (isStored ? metrics.accepted : metrics.unstored).add(request.judged.acceptedCount)
        request.reply.send(isStored ? ReportsAnswer.accepted(request.judged) : Unavailable.unstored)
    }

    private func watch(_ waiting: [Waiting]) {
        let now = Instant.now()
        let oldest = waiting.map(\.began).min() ?? now
        metrics.oldest(of: .reports, seconds: now.seconds(since: oldest))
    }
}
