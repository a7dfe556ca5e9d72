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

    private let pendingLimit: PendingRequestLimit
    private let startStored = AtomicFlag()
    private let processor: LoopOwned<RequestProcessor>

    init(
        _ environment: StageEnvironment, limits: GatewayLimits, pendingLimit: PendingRequestLimit,
        context: ServiceContext,
        metrics: GatewayMetrics, clock: GatewayClock,
        seen: @escaping @Sendable () -> Void
    ) throws {
        self.pendingLimit = pendingLimit
        processor = try LoopOwned(thread: "gateway-requests") { [startStored] owner in
            let sharedProducer = try SharedProducer<RequestProcessor.PendingEntry>(
                settings: environment.cluster.settings,
                topics: OutgoingRecord.Destination.allCases.map { environment.layout.name(of: $0.topic) },
                limits: limits, on: owner.loop, context: context, clock: clock, onAcknowledgement: seen)
            return try RequestProcessor(
                owner, environment, outbox: sharedProducer, pendingLimit: pendingLimit, metrics: metrics,
                clock: clock,
                told: startStored)
        }
    }

    func stop(by deadline: Instant) async { await processor.stop { $0.sharedProducer.flush(by: deadline) } }

    /// Whether Kafka has acknowledged the start record. From then on the gateway knows the cluster's time.
    var hasStored: Bool { startStored.isRaised }

    /// Takes over a request and the duty to answer it. Returns false, without taking over either, if too many
    /// wait.
    func accept(_ incoming: AuthorizedRequest, as kind: RequestKind, decide: @escaping Decide) -> Bool {
        guard pendingLimit.reserve(bytes: incoming.request.body.count) else { return false }
        let job = RequestProcessor.PendingRequest(
            incoming: incoming, kind: kind, decide: decide, began: .now())
        processor.execute { $0.process(job) }
        return true
    }

    /// Handles replies of the scheduler. Most of them are for other gateways or come too late.
    func handle(_ said: [ScheduleReply]) { processor.execute { $0.heard(said) } }
}

/// The state of the worker, confined to its thread.
private final class RequestProcessor {
    struct PendingRequest: Sendable {
        let incoming: AuthorizedRequest
        let kind: RequestKind
        let decide: RequestWorker.Decide
        let began: Instant
        /// Whether the request named something unknown and the catalog was then read to its end.
        var hasReadCatalog = false
        var answer: HTTPResponse?
        /// The record to store after the records in flight.
        var nextRecord: OutgoingRecord?
        /// Whether the answer must wait until this gateway has read the catalog change.
        var changesCatalog = false
        /// The name that the scheduler's reply carries, and the function that makes the answer from the
        /// reply.
        var awaitedReply: (name: String, answer: @Sendable (ScheduleReply.Outcome?) -> HTTPResponse)?
    }

    /// An entry that waits for Kafka.
    enum PendingEntry: Sendable {
        case request(PendingRequest)
        /// The start record of this gateway. Its stamp gives the cluster's time.
        case start
    }

    let sharedProducer: SharedProducer<PendingEntry>
    private unowned let owner: LoopOwned<RequestProcessor>
    private let environment: StageEnvironment
    private let pendingLimit: PendingRequestLimit
    private let metrics: GatewayMetrics
    private let clock: GatewayClock
    private let startStored: AtomicFlag
    private let userProofs: UserProofCheck
    /// The partition of `replies` for this gateway.
    private let repliesPartition: Int32
    private var pendingReplies = PendingReplies<PendingRequest>()
    private var replyTimer: LoopTimer?
    private let reader = JSONReader(
        limits: JSONLimits(
            bytesMax: GatewayLimits.sendBytesMax, depthMax: GatewayLimits.depthMax,
            keysMax: GatewayLimits.sendFieldsMax))

    init(
        _ owner: LoopOwned<RequestProcessor>, _ environment: StageEnvironment,
        outbox: SharedProducer<PendingEntry>,
        pendingLimit: PendingRequestLimit, metrics: GatewayMetrics, clock: GatewayClock, told: AtomicFlag
    ) throws {
        self.owner = owner
        self.environment = environment
        self.sharedProducer = outbox
        self.pendingLimit = pendingLimit
        self.metrics = metrics
        self.clock = clock
        self.startStored = told
        userProofs = UserProofCheck(seal: TokenSeal(keys: environment.sealingKeys))
        repliesPartition = Int32(ReplyReader.partition(of: environment))
        outbox.onSettled = { [unowned self] waiting, isStored in
            switch waiting {
            case .request(let job): settle(job, isStored: isStored)
            case .start: told.set(isStored)
            }
        }
        outbox.onTick = { [unowned self] in reportAge(of: $0) }
        try outbox.start()
    }

    func process(_ job: PendingRequest) { process(job, catalog: environment.catalog) }

    private func process(_ job: PendingRequest, catalog: CatalogSnapshot?) {
        guard let catalog else { return finish(job, as: .unstored, response: Unavailable.notReady) }
        // The key may have been revoked, or the app deleted, since the request's head was read.
        let (request, caller) = (job.incoming.request, job.incoming.caller)
        let key = catalog.keys[caller.key.id]
        let access = key.map { catalog.access(with: $0, for: caller.key.role, now: clock.now) } ?? .revoked
        guard case .granted(_, let app) = access else {
            return finish(job, as: .refused, response: APIKeyHeader.refusal(for: access)?.response)
        }
        let context = RequestContext(
            body: request.body, headers: request.headers, parameters: request.parameters,
            query: request.query, role: caller.key.role, userProofs: userProofs, author: caller.key.id,
            address: caller.address, app: app, catalog: catalog, now: clock.now,
            reader: reader)
        do throws(RefusedRequest) {
            carryOut(try job.decide(context), of: job, at: context.now)
        } catch {
            if error.hasUnknownName, !job.hasReadCatalog { return readCatalogAndRetry(job) }
            finish(job, as: .refused, response: error.response)
        }
    }

    /// Reads the catalog to its end and decides again. Another gateway may have just created the missing
    /// name.
    private func readCatalogAndRetry(_ job: PendingRequest) {
        var job = job
        job.hasReadCatalog = true
        environment.refreshCatalog { [job, owner] catalog in
            if !owner.execute({ $0.process(job, catalog: catalog) }) {
                job.incoming.reply.send(Unavailable.overloaded)
            }
        }
    }

    private func carryOut(_ decision: RequestDecision, of job: PendingRequest, at now: WallTime) {
        var job = job
        switch decision {
        case .answer(let response): finish(job, as: .answered, response: response)
        case .store(let records, let response):
            job.answer = response
            send(for: job, records: records)
        case .askScheduler(let question):
            let name = PendingReplies<PendingRequest>.makeName()
            job.awaitedReply = (name, question.makeResponse)
            pendingReplies.add(job, named: name)
            let replyTo = ScheduleCommand.ReplyAddress(partition: repliesPartition, request: name)
            send(for: job, records: question.records(replyTo: replyTo))
        case .changeCatalog(let change, let response):
            job.answer = response
            job.changesCatalog = true
            var entry = change.auditEntry(by: job.incoming.caller.key.id, at: max(0, now.milliseconds))
            entry.address = job.incoming.caller.address
            // The audit record goes first. If the gateway is killed between the two, the audit has a change
            // that did not happen. The other order would leave a change without an audit record.
            job.nextRecord = OutgoingRecord(destination: .catalog, key: change.key, value: change.value)
            send(for: job, records: [.audit(entry)])
        }
    }

    private func send(for job: PendingRequest, records: [OutgoingRecord]) {
        sharedProducer.send(.request(job), records: records.count) { index, send in
            let record = records[index]
            return send(record.destination.rawValue, record.key.span, record.value?.span)
        }
    }

    private func settle(_ job: PendingRequest, isStored: Bool) {
        if let asked = job.awaitedReply {
            if isStored {
                pendingReplies.startWait(for: asked.name, at: .now())
                scheduleReplyTimeout()
            } else if pendingReplies.remove(named: asked.name) != nil {
                finish(job, as: .unstored, response: Unavailable.unstored)
            }
            return
        }
        guard isStored else { return finish(job, as: .unstored, response: Unavailable.unstored) }
        if let next = job.nextRecord {
            var job = job
            job.nextRecord = nil
            return send(for: job, records: [next])
        }
        guard job.changesCatalog else { return finish(job, as: .accepted, response: job.answer) }
        environment.refreshCatalog { [job, owner] _ in
            if !owner.execute({ $0.finish(job, as: .accepted, response: job.answer) }) {
                job.incoming.reply.send(Unavailable.unstored)
            }
        }
    }

    func heard(_ said: [ScheduleReply]) {
        for reply in said {
            guard let job = pendingReplies.remove(named: reply.request) else { continue }
            finish(job, as: .answered, response: job.awaitedReply?.answer(reply.outcome))
        }
    }

    /// Answers the requests whose time for a reply is over. Their orders are stored and still under way.
    private func scheduleReplyTimeout() {
        let timer =
            replyTimer
            ?? LoopTimer(on: owner.loop) { [unowned self] in
                for job in pendingReplies.removeOverdue(at: .now()) {
                    finish(job, as: .underWay, response: job.awaitedReply?.answer(nil))
                }
                scheduleReplyTimeout()
            }
        replyTimer = timer
        guard let next = pendingReplies.nextDeadline() else { return timer.cancel() }
        if !timer.isScheduled { timer.schedule(at: next) }
    }

    private func finish(_ job: PendingRequest, as outcome: RequestOutcome, response: HTTPResponse?) {
        pendingLimit.release(bytes: job.incoming.request.body.count)
        metrics.batchSeconds.observe(Instant.now().seconds(since: job.began))
        metrics.countRequest(kind: job.kind, outcome: outcome)
        job.incoming.reply.send(response ?? Unavailable.unstored)
    }

    private func reportAge(of waiting: [PendingEntry]) {
        var jobs: [PendingRequest] = []
        var isStartPending = false
        for one in waiting {
            switch one {
            case .request(let job): jobs.append(job)
            case .start: isStartPending = true
            }
        }
        let now = Instant.now()
        metrics.setOldest(of: .requests, seconds: now.seconds(since: jobs.map(\.began).min() ?? now))
        if !startStored.isRaised, !isStartPending { writeStartRecord() }
    }

    /// Writes the start record to the audit. It also tells this gateway the cluster's time before the first
    /// request.
    private func writeStartRecord() {
        let entry = AuditEntry(
            at: max(0, WallTime.now().milliseconds), author: environment.identity(of: "gateway"),
            action: "gateway.start", app: AuditEntry.everyApp)
        sharedProducer.send(.start, records: 1) { _, send in
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
