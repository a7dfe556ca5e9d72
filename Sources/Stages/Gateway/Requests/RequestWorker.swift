internal import Catalog
internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Telemetry
internal import Topics

/// The processor of all requests except reports, on one thread. It decides each request, stores the result,
/// and answers when all in-sync replicas have it.
final class RequestWorker: Sendable {
    typealias Decide = @Sendable (RequestContext) throws(RefusedRequest) -> RequestDecision

    private let waitingRoom: WaitingRoom
    private let told = Flag()
    private let desk: LoopOwned<RequestDesk>

    init(
        _ environment: StageEnvironment, limits: GatewayLimits, waitingRoom: WaitingRoom,
        context: ServiceContext,
        metrics: GatewayMetrics, clock: GatewayClock,
        seen: @escaping @Sendable () -> Void
    ) throws {
        self.waitingRoom = waitingRoom
        desk = try LoopOwned(thread: "gateway-requests") { [told] owner in
            let outbox = try Outbox<RequestDesk.Waiting>(
                environment.cluster.settings,
                topics: OutgoingRecord.Destination.allCases.map { environment.layout.name($0.topic) },
                limits: limits, on: owner.loop, context: context, clock: clock, seen: seen)
            return try RequestDesk(
                owner, environment, outbox: outbox, waitingRoom: waitingRoom, metrics: metrics, clock: clock,
                told: told)
        }
    }

    func stop(by deadline: Instant) async { await desk.stop { $0.outbox.flush(by: deadline) } }

    /// Whether Kafka has acknowledged the start record. From then on the gateway knows the cluster's time.
    var hasStored: Bool { told.isRaised }

    /// Takes over a request and the duty to answer it. Returns false, without taking over either, if too many
    /// wait.
    func take(_ incoming: Incoming, about kind: RequestKind, decide: @escaping Decide) -> Bool {
        guard waitingRoom.enter(bytes: incoming.request.body.count) else { return false }
        let job = RequestDesk.Job(incoming: incoming, kind: kind, decide: decide, began: .now())
        desk.execute { $0.run(job) }
        return true
    }

    /// Handles replies of the scheduler. Most of them are for other gateways or come too late.
    func heard(_ said: [ScheduleReply]) { desk.execute { $0.heard(said) } }
}

/// The state of the worker, confined to its thread.
private final class RequestDesk {
    struct Job: Sendable {
        let incoming: Incoming
        let kind: RequestKind
        let decide: RequestWorker.Decide
        let began: Instant
        /// Whether the request named something unknown and the catalog was then read to its end.
        var hasReadOn = false
        var answer: HTTPResponse?
        /// The record to store after the records in flight.
        var then: OutgoingRecord?
        /// Whether the answer must wait until this gateway has read the catalog change.
        var changesCatalog = false
        /// The name that the scheduler's reply carries, and the function that makes the answer from the
        /// reply.
        var asked: (name: String, answer: @Sendable (ScheduleReply.Answer?) -> HTTPResponse)?
    }

    /// An entry that waits for Kafka.
    enum Waiting: Sendable {
        case job(Job)
        /// The start record of this gateway. Its stamp gives the cluster's time.
        case start
    }

    let outbox: Outbox<Waiting>
    private unowned let owner: LoopOwned<RequestDesk>
    private let environment: StageEnvironment
    private let waitingRoom: WaitingRoom
    private let metrics: GatewayMetrics
    private let clock: GatewayClock
    private let told: Flag
    private let users: UserProofCheck
    /// The partition of `replies` for this gateway.
    private let repliesPartition: Int32
    private var replies = WaitingReplies<Job>()
    private var replyTimer: LoopTimer?
    private let reader = JSONReader(
        limits: JSONLimits(
            bytesMax: GatewayLimits.sendBytesMax, depthMax: GatewayLimits.depthMax,
            keysMax: GatewayLimits.sendFieldsMax))

    init(
        _ owner: LoopOwned<RequestDesk>, _ environment: StageEnvironment, outbox: Outbox<Waiting>,
        waitingRoom: WaitingRoom, metrics: GatewayMetrics, clock: GatewayClock, told: Flag
    ) throws {
        self.owner = owner
        self.environment = environment
        self.outbox = outbox
        self.waitingRoom = waitingRoom
        self.metrics = metrics
        self.clock = clock
        self.told = told
        users = UserProofCheck(TokenSeal(environment.sealingKeys))
        repliesPartition = Int32(ReplyReader.partition(of: environment))
        outbox.settled = { [unowned self] waiting, isStored in
            switch waiting {
            case .job(let job): settled(job, isStored)
            case .start: told.set(isStored)
            }
        }
        outbox.watched = { [unowned self] in watch($0) }
        try outbox.start()
    }

    func run(_ job: Job) { run(job, environment.catalog) }

    private func run(_ job: Job, _ catalog: KnownCatalog?) {
        guard let catalog else { return finish(job, as: .unstored, Unavailable.notReady) }
        // The key may have been revoked, or the app deleted, since the request's head was read.
        let (request, visitor) = (job.incoming.request, job.incoming.visitor)
        let key = catalog.keys[visitor.key.id]
        let access = key.map { catalog.access(with: $0, for: visitor.key.role, now: clock.now) } ?? .revoked
        guard case .granted(_, let app) = access else {
            return finish(job, as: .refused, KeyHeader.refusal(access)?.response)
        }
        let context = RequestContext(
            body: request.body, headers: request.headers, parameters: request.parameters,
            query: request.query, role: visitor.key.role, users: users, author: visitor.key.id,
            address: visitor.address, app: app, catalog: catalog, now: clock.now,
            reader: reader)
        do throws(RefusedRequest) {
            carryOut(try job.decide(context), of: job, at: context.now)
        } catch {
            if error.namesUnknown, !job.hasReadOn { return readOn(job) }
            finish(job, as: .refused, error.response)
        }
    }

    /// Reads the catalog to its end and decides again. Another gateway may have just created the missing
    /// name.
    private func readOn(_ job: Job) {
        var job = job
        job.hasReadOn = true
        environment.readCatalogOn { [job, owner] catalog in
            if !owner.execute({ $0.run(job, catalog) }) {
                job.incoming.reply.send(Unavailable.overloaded)
            }
        }
    }

    private func carryOut(_ decision: RequestDecision, of job: Job, at now: WallTime) {
        var job = job
        switch decision {
        case .answer(let response): finish(job, as: .answered, response)
        case .store(let records, let response):
            job.answer = response
            send(job, records)
        case .ask(let question):
            let name = WaitingReplies<Job>.name()
            job.asked = (name, question.answer)
            replies.add(job, as: name)
            let replyTo = ScheduleOrder.ReplyTo(partition: repliesPartition, request: name)
            send(job, question.records(replyTo: replyTo))
        case .change(let change, let response):
            job.answer = response
            job.changesCatalog = true
            var entry = change.entry(by: job.incoming.visitor.key.id, at: max(0, now.milliseconds))
            entry.address = job.incoming.visitor.address
            // The audit record goes first. If the gateway is killed between the two, the audit has a change
            // that did not happen. The other order would leave a change without an audit record.
            job.then = OutgoingRecord(destination: .catalog, key: change.key, value: change.value)
            send(job, [.audit(entry)])
        }
    }

    private func send(_ job: Job, _ records: [OutgoingRecord]) {
        outbox.send(.job(job), records: records.count) { index, send in
            let record = records[index]
            return send(record.destination.rawValue, record.key.span, record.value?.span)
        }
    }

    private func settled(_ job: Job, _ isStored: Bool) {
        if let asked = job.asked {
            if isStored {
                replies.stored(asked.name, at: .now())
                watchReplies()
            } else if replies.take(asked.name) != nil {
                finish(job, as: .unstored, Unavailable.unstored)
            }
            return
        }
        guard isStored else { return finish(job, as: .unstored, Unavailable.unstored) }
        if let next = job.then {
            var job = job
            job.then = nil
            return send(job, [next])
        }
        guard job.changesCatalog else { return finish(job, as: .accepted, job.answer) }
        environment.readCatalogOn { [job, owner] _ in
            if !owner.execute({ $0.finish(job, as: .accepted, job.answer) }) {
                job.incoming.reply.send(Unavailable.unstored)
            }
        }
    }

    func heard(_ said: [ScheduleReply]) {
        for reply in said {
            guard let job = replies.take(reply.request) else { continue }
            finish(job, as: .answered, job.asked?.answer(reply.answer))
        }
    }

    /// Answers the requests whose time for a reply is over. Their orders are stored and still under way.
    private func watchReplies() {
        let timer =
            replyTimer
            ?? LoopTimer(on: owner.loop) { [unowned self] in
                for job in replies.takeOverdue(at: .now()) {
                    finish(job, as: .underWay, job.asked?.answer(nil))
                }
                watchReplies()
            }
        replyTimer = timer
        guard let next = replies.next() else { return timer.cancel() }
        if !timer.isScheduled { timer.schedule(at: next) }
    }

    private func finish(_ job: Job, as outcome: RequestOutcome, _ response: HTTPResponse?) {
        waitingRoom.leave(bytes: job.incoming.request.body.count)
        metrics.seconds.observe(Instant.now().seconds(since: job.began))
        metrics.ended(job.kind, outcome)
        job.incoming.reply.send(response ?? Unavailable.unstored)
    }

    private func watch(_ waiting: [Waiting]) {
        var jobs: [Job] = []
        var isTelling = false
        for one in waiting {
            switch one {
            case .job(let job): jobs.append(job)
            case .start: isTelling = true
            }
        }
        let now = Instant.now()
        metrics.oldest(of: .requests, seconds: now.seconds(since: jobs.map(\.began).min() ?? now))
        if !told.isRaised, !isTelling { tellOfStart() }
    }

    /// Writes the start record to the audit. It also tells this gateway the cluster's time before the first
    /// request.
    private func tellOfStart() {
        let entry = AuditEntry(
            at: max(0, WallTime.now().milliseconds), by: environment.identity(of: "gateway"),
            action: "gateway.start", app: AuditEntry.everyApp)
        outbox.send(.start, records: 1) { _, send in
            send(OutgoingRecord.Destination.audit.rawValue, entry.key.span, entry.encoded().span)
        }
    }
}

extension OutgoingRecord.Destination {
    var topic: TopicName {
        switch self {
        case .sends: .sends
        case .schedules: .schedules
        case .reports: .reports
        case .audit: .audit
        case .catalog: .catalog
        }
    }
}
