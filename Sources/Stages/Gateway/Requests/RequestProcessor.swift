internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import StageSupport
internal import Telemetry
internal import TokenSealing

/// The state of the `RequestWorker`, confined to its thread: the requests that wait for Kafka or for the scheduler.
final class RequestProcessor {
    struct PendingRequest: Sendable {
        let authorized: AuthorizedRequest
        let kind: RequestKind
        let decide: RequestWorker.Decide
        let receivedAt: Instant
        /// Whether the catalog was read to its end because the request names something unknown.
        var hasReadCatalog = false
    }

    /// The step of a request that follows when its records in flight are stored.
    enum NextStep: Sendable {
        case answer(HTTPResponse)
        case storeCatalogChange(OutgoingRecord, HTTPResponse)
        /// This gateway reads the stored change before the answer, so that the caller's next request knows it.
        case readCatalogChange(HTTPResponse)
        case awaitReply(name: String)
    }

    /// An entry that waits for Kafka.
    enum PendingEntry: Sendable {
        case request(PendingRequest, then: NextStep)
        /// The start record of this gateway. Its broker's timestamp gives the cluster's time.
        case start
    }

    /// A request whose command is under way to the scheduler.
    private struct AwaitedReply {
        let pending: PendingRequest
        /// Makes the answer. The outcome is nil if the scheduler did not reply in time.
        let makeResponse: @Sendable (ScheduleReply.Outcome?) -> HTTPResponse
    }

    let sharedProducer: SharedProducer<PendingEntry>
    private unowned let owner: LoopOwned<RequestProcessor>
    private let environment: StageEnvironment
    private let pendingLimit: PendingRequestLimit
    private let metrics: GatewayMetrics
    private let clock: GatewayClock
    private let startStored: AtomicFlag
    private let userProofs: UserProofCheck
    /// The partition of `replies` that this gateway reads.
    private let repliesPartition: Int32
    private var pendingReplies = PendingReplies<AwaitedReply>()
    private var replyTimer: LoopTimer?
    private let reader = JSONReader(
        limits: JSONLimits(
            bytesMax: GatewayLimits.sendBytesMax, depthMax: GatewayLimits.depthMax,
            keysMax: GatewayLimits.sendFieldsMax))

    /// - Parameter startStored: Raised when the start record is stored.
    init(
        _ owner: LoopOwned<RequestProcessor>, _ environment: StageEnvironment,
        sharedProducer: SharedProducer<PendingEntry>, pendingLimit: PendingRequestLimit,
        metrics: GatewayMetrics, clock: GatewayClock, startStored: AtomicFlag
    ) throws {
        self.owner = owner
        self.environment = environment
        self.sharedProducer = sharedProducer
        self.pendingLimit = pendingLimit
        self.metrics = metrics
        self.clock = clock
        self.startStored = startStored
        userProofs = UserProofCheck(seal: TokenSeal(keys: environment.sealingKeys))
        repliesPartition = Int32(ReplyReader.partition(of: environment))
        sharedProducer.onSettled = { [unowned self] entry, isStored in
            switch entry {
            case .request(let pending, let nextStep): settle(pending, nextStep: nextStep, isStored: isStored)
            case .start: startStored.set(isStored)
            }
        }
        sharedProducer.onTick = { [unowned self] in tick(waiting: $0) }
        try sharedProducer.start()
    }

    // MARK: Deciding

    func process(_ pending: PendingRequest) { process(pending, catalog: environment.catalog) }

    private func process(_ pending: PendingRequest, catalog: CatalogSnapshot?) {
        guard let catalog else { return finish(pending, as: .unstored, response: Unavailable.notReady) }
        // The key may have been revoked, or the app deleted, since the request's head was read.
        let (request, caller) = (pending.authorized.request, pending.authorized.caller)
        let key = catalog.keys[caller.key.id]
        let access = key.map { catalog.access(with: $0, for: caller.key.role, now: clock.now) } ?? .revoked
        guard case .granted(_, let app) = access else {
            let refusal = APIKeyHeader.refusal(for: access)?.response
            return finish(pending, as: .refused, response: refusal ?? Unavailable.unstored)
        }
        let context = RequestContext(
            body: request.body, headers: request.headers, parameters: request.parameters,
            query: request.query, role: caller.key.role, userProofs: userProofs, author: caller.key.id,
            address: caller.address, app: app, catalog: catalog, now: clock.now,
            reader: reader)
        do throws(RefusedRequest) {
            carryOut(try pending.decide(context), of: pending, at: context.now)
        } catch {
            if error.hasUnknownName, !pending.hasReadCatalog { return readCatalogAndRetry(pending) }
            finish(pending, as: .refused, response: error.response)
        }
    }

    /// Reads the catalog to its end and decides again. Another gateway may have just created the missing
    /// name.
    private func readCatalogAndRetry(_ pending: PendingRequest) {
        var pending = pending
        pending.hasReadCatalog = true
        environment.refreshCatalog { [pending, owner, pendingLimit] catalog in
            if !owner.execute({ $0.process(pending, catalog: catalog) }) {
                pendingLimit.release(bytes: pending.authorized.request.body.count)
                pending.authorized.reply.send(Unavailable.overloaded)
            }
        }
    }

    // MARK: Storing and answering

    private func carryOut(_ decision: RequestDecision, of pending: PendingRequest, at now: WallTime) {
        switch decision {
        case .answer(let response): finish(pending, as: .answered, response: response)
        case .store(let records, let response): send(records, of: pending, then: .answer(response))
        case .askScheduler(let request):
            let name = PendingReplies<AwaitedReply>.makeName()
            pendingReplies.add(
                AwaitedReply(pending: pending, makeResponse: request.makeResponse), named: name)
            let replyTo = ScheduleCommand.ReplyAddress(partition: repliesPartition, request: name)
            send(request.records(replyTo: replyTo), of: pending, then: .awaitReply(name: name))
        case .changeCatalog(let change, let response):
            var entry = change.auditEntry(
                by: pending.authorized.caller.key.id, at: max(0, now.milliseconds))
            entry.address = pending.authorized.caller.address
            let record = OutgoingRecord(destination: .catalog, key: change.key, value: change.value)
            // The audit record goes first. If the gateway is killed between the two, the audit has a change
            // that did not happen. The other order would leave a change without an audit record.
            send([.audit(entry)], of: pending, then: .storeCatalogChange(record, response))
        }
    }

    private func send(_ records: [OutgoingRecord], of pending: PendingRequest, then nextStep: NextStep) {
        sharedProducer.send(.request(pending, then: nextStep), records: records.count) { index, send in
            let record = records[index]
            return send(record.destination.rawValue, record.key.span, record.value?.span)
        }
    }

    /// Takes the next step of a request whose records are stored, or whose storing failed.
    private func settle(_ pending: PendingRequest, nextStep: NextStep, isStored: Bool) {
        if case .awaitReply(let name) = nextStep {
            return settleCommand(of: pending, replyName: name, isStored: isStored)
        }
        guard isStored else { return finish(pending, as: .unstored, response: Unavailable.unstored) }
        switch nextStep {
        case .answer(let response): finish(pending, as: .accepted, response: response)
        case .storeCatalogChange(let record, let response):
            send([record], of: pending, then: .readCatalogChange(response))
        case .readCatalogChange(let response):
            environment.refreshCatalog { [pending, owner, pendingLimit] _ in
                if !owner.execute({ $0.finish(pending, as: .accepted, response: response) }) {
                    pendingLimit.release(bytes: pending.authorized.request.body.count)
                    pending.authorized.reply.send(Unavailable.unstored)
                }
            }
        case .awaitReply: break
        }
    }

    private func finish(_ pending: PendingRequest, as outcome: RequestOutcome, response: HTTPResponse) {
        pendingLimit.release(bytes: pending.authorized.request.body.count)
        metrics.batchSeconds.observe(Instant.now().seconds(since: pending.receivedAt))
        metrics.countRequest(kind: pending.kind, outcome: outcome)
        pending.authorized.reply.send(response)
    }

    // MARK: Replies of the scheduler

    /// Starts the wait for the reply if the command is stored. The reply may already be here, which proves that
    /// the command is stored even if Kafka's acknowledgement is lost.
    private func settleCommand(of pending: PendingRequest, replyName: String, isStored: Bool) {
        if isStored {
            pendingReplies.startWait(for: replyName, at: .now())
            scheduleReplyTimeout()
        } else if pendingReplies.remove(named: replyName) != nil {
            finish(pending, as: .unstored, response: Unavailable.unstored)
        }
    }

    func handle(_ replies: [ScheduleReply]) {
        for reply in replies {
            guard let awaited = pendingReplies.remove(named: reply.request) else { continue }
            finish(awaited.pending, as: .answered, response: awaited.makeResponse(reply.outcome))
        }
    }

    /// Answers the requests whose time for a reply is over. Their commands are stored and still under way.
    private func scheduleReplyTimeout() {
        let timer =
            replyTimer
            ?? LoopTimer(on: owner.loop) { [unowned self] in
                for awaited in pendingReplies.removeOverdue(at: .now()) {
                    finish(awaited.pending, as: .underWay, response: awaited.makeResponse(nil))
                }
                scheduleReplyTimeout()
            }
        replyTimer = timer
        guard let deadline = pendingReplies.nextDeadline() else { return timer.cancel() }
        if !timer.isScheduled { timer.schedule(at: deadline) }
    }

    // MARK: Once a second

    /// Reports the age of the oldest request, and writes the start record until it is stored.
    private func tick(waiting: [PendingEntry]) {
        var oldest: Instant?
        var isStartPending = false
        for entry in waiting {
            switch entry {
            case .request(let pending, _): oldest = min(oldest ?? pending.receivedAt, pending.receivedAt)
            case .start: isStartPending = true
            }
        }
        let now = Instant.now()
        metrics.setOldest(of: .requests, seconds: now.seconds(since: oldest ?? now))
        if !startStored.isRaised, !isStartPending { writeStartRecord() }
    }

    /// Writes the start record to the audit. Its acknowledgement shows that Kafka stores records, and gives this
    /// gateway the cluster's time before the first request.
    private func writeStartRecord() {
        let entry = AuditEntry(
            at: max(0, WallTime.now().milliseconds), author: environment.identity(of: "gateway"),
            action: "gateway.start", app: AuditEntry.everyApp)
        sharedProducer.send(.start, records: 1) { _, send in
            send(OutgoingRecord.Destination.audit.rawValue, entry.key.span, entry.encoded().span)
        }
    }
}
