internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// Takes the bodies of many requests at once, judges them, and sends their reports to Kafka through one
/// producer; answers when all in-sync replicas have every report of a body, and never before.
///
/// `@unchecked Sendable`: what is not constant is touched on the loop only.
final class ReportWriter: EventHandler, @unchecked Sendable {
    private struct Waiting {
        let reply: HTTPReply
        let judged: JudgedReports
        let bodyBytes: Int
        let began: Instant
    }

    private static let tickMilliseconds = 1000

    let loop: EventLoop
    private let admission: Admission
    private let metrics: GatewayMetrics
    private let context: ServiceContext
    private let seen: @Sendable (Instant) -> Void
    private let connect: @Sendable () throws -> Producer
    private let topicName: String
    private(set) var producer: Producer
    private var topic: Topic
    private let judge: ReportJudge
    private var installations: RateTable
    private var waiting = WaitingRequests<Waiting>()
    private var deliveries: [Delivery] = []
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - sealingKeys: nil writes tokens in the clear.
    ///   - seen: told whenever Kafka has acknowledged something.
    init(
        _ settings: KafkaSettings, topic name: String, sealingKeys: SealingKeys?, limits: GatewayLimits,
        context: ServiceContext, metrics: GatewayMetrics, seen: @escaping @Sendable (Instant) -> Void
    ) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = limits.lingerMilliseconds
        options.deliveryMillisecondsMax = limits.acknowledgeMilliseconds
        let connect: @Sendable () throws -> Producer = { [options] in
            try Producer(settings, options, name: "gateway", log: context.log, metrics: context.metrics)
        }
        self.connect = connect
        topicName = name
        producer = try connect()
        topic = try producer.topic(name)
        judge = ReportJudge(sealingKeys)
        installations = RateTable(
            countMax: limits.reportsPerInstallationAndMinuteMax, windowMilliseconds: 60_000,
            entriesMax: GatewayLimits.installationsCountedMax, now: .now())
        admission = Admission(limits)
        metrics.watch(admission)
        self.metrics = metrics
        self.context = context
        self.seen = seen
        loop = try EventLoop(name: "reports")
        try loop.start { try self.begin() }
    }

    /// Waits for what is on its way, then ends the thread. What has not come back by then was answered
    /// 503 by the server, which has stopped.
    func stop(by deadline: Instant) async {
        await withCheckedContinuation { done in
            loop.execute {
                let left = max(0, deadline.milliseconds(since: .now()))
                _ = self.producer.flush(withinMilliseconds: left, into: &self.deliveries)
                self.settle()
                done.resume()
            }
        }
        loop.stop()
    }

    // MARK: From the server's threads

    /// Takes a body and the duty to answer; false, with neither, when too much waits already.
    func take(_ body: [UInt8], for app: App, as role: APIKey.Role, _ reply: HTTPReply) -> Bool {
        guard admission.enter(bytes: body.count) else { return false }
        let began = Instant.now()
        loop.execute { self.send(body, for: app, as: role, reply, began: began) }
        return true
    }

    // MARK: On the loop

    private func begin() throws {
        try loop.register(producer.descriptor, for: .readable, self)
        timer = LoopTimer(on: loop) { [unowned self] in tick() }
        tick()
    }

    private func send(
        _ body: [UInt8], for app: App, as role: APIKey.Role, _ reply: HTTPReply, began: Instant
    ) {
        var judged: JudgedReports
        do {
            judged = try judge.judge(body, for: app, as: role)
        } catch {
            admission.leave(bytes: body.count)
            metrics.refused.add()
            return reply.send(ReportsAnswer.unreadable(error))
        }
        let wait = role.includes(.send) ? 0 : limitInstallations(&judged)
        metrics.refused.add(judged.refused.count)
        let count = judged.acceptedCount
        guard count > 0 else {
            admission.leave(bytes: body.count)
            return reply.send(ReportsAnswer.refused(judged, waitMilliseconds: wait))
        }
        let request = Waiting(reply: reply, judged: judged, bodyBytes: body.count, began: began)
        let tag = waiting.add(request, records: count)
        for index in 0..<count {
            let result = judged.withRecord(index) { key, value in
                producer.send(to: topic, key: key, value: value, tag: tag)
            }
            switch result {
            case .queued: continue
            case .full: break
            case .refused(let code):
                context.log.error(
                    "kafka takes no reports", .field("code", code.name), .field("remedy", code.remedy))
            case .rebuild(let code): return rebuild(code)
            }
            // Those that are in the queue come back by themselves; the rest was never sent.
            return finish(waiting.settle(tag, records: count - index, isStored: false))
        }
    }

    /// Takes out the reports of installations that tell too much; returns how long they are to wait.
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

    /// What waits is perhaps stored and perhaps not: its senders try again, and those who are connected
    /// need not hear of it.
    private func rebuild(_ code: ErrorCode) {
        context.log.warning("the producer is at its end and made anew", .field("code", code.name))
        for request in waiting.removeAll() { answer(request, isStored: false) }
        loop.deregister(producer.descriptor)
        do {
            producer = try connect()
            topic = try producer.topic(topicName)
            try loop.register(producer.descriptor, for: .readable, self)
        } catch {
            context.fail(error)
        }
    }

    func ready(_ readiness: Readiness) {
        while producer.collect(into: &deliveries) {}
        settle()
    }

    private func settle() {
        for delivery in deliveries {
            if !delivery.isStored { unstored(delivery.outcome) }
            finish(waiting.settle(delivery.tag, isStored: delivery.isStored))
        }
        if deliveries.contains(where: \.isStored) { seen(.now()) }
        deliveries.removeAll(keepingCapacity: true)
    }

    private func unstored(_ outcome: Delivery.Outcome) {
        switch outcome {
        case .stored: break
        case .notStored(let code), .unknown(let code):
            context.log.warning(
                "a report was not acknowledged; its sender is told to try again", .field("code", code.name))
        }
    }

    private func finish(_ done: (Waiting, isStored: Bool)?) {
        if let (request, isStored) = done { answer(request, isStored: isStored) }
    }

    private func answer(_ request: Waiting, isStored: Bool) {
        admission.leave(bytes: request.bodyBytes)
        metrics.seconds.observe(Instant.now().seconds(since: request.began))
        (isStored ? metrics.accepted : metrics.unstored).add(request.judged.acceptedCount)
        request.reply.send(isStored ? ReportsAnswer.accepted(request.judged) : Unavailable.unstored)
    }

    private func tick() {
        timer?.schedule(at: loop.now.advanced(byMilliseconds: Self.tickMilliseconds))
        ready(.readable)
        if let error = producer.fatalError { rebuild(error.code) }
        var oldest = loop.now
        for request in waiting.requests { oldest = min(oldest, request.began) }
        metrics.oldest.set(loop.now.seconds(since: oldest))
    }

    func loopEnds() {
        timer?.cancel()
        timer = nil
        loop.deregister(producer.descriptor)
    }
}
