internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Telemetry
internal import TokenSealing

/// The processor of all requests of a gateway except reports. It decides each request, stores its records, waits for
/// another stage if needed, and answers. Confined to the thread of the `RequestWorker`.
///
/// The steps of a request are `process`, `carryOut`, `send`, `settle` and `finish`. A step that waits for Kafka, for
/// the catalog or for another stage ends at once, and an event starts the next one.
final class RequestProcessor {
    let sharedProducer: SharedProducer<PendingEntry>
    unowned let owner: LoopOwned<RequestProcessor>
    let environment: StageEnvironment
    let pendingLimit: PendingRequestLimit
    let metrics: GatewayMetrics
    let rates: CallerRates
    private let clock: GatewayClock
    /// Raised when the start record is stored.
    private let startStored: AtomicFlag
    private let userProofs: UserProofCheck
    /// The partition of `replies` that this gateway reads.
    let repliesPartition: Int32
    /// The requests that wait for another stage. Those that wait for Kafka are in `sharedProducer`.
    var pendingReplies = PendingReplies<AwaitedReply>()
    /// The timer of the earliest deadline in `pendingReplies`.
    var replyTimer: LoopTimer?
    /// The requests that wait until the catalog is read to its end. Each counts in `PendingRequestLimit`.
    private var requestsAwaitingCatalog: [PendingRequest] = []
    private var isReadingCatalog = false
    private let reader = JSONReader(
        limits: JSONLimits(
            bytesMax: GatewayLimits.sendBytesMax, depthMax: GatewayLimits.depthMax,
            keysMax: GatewayLimits.sendFieldsMax))
    /// The reader of the bodies of batches. Then `reader` reads each send.
    let batchReader = JSONReader(
        limits: JSONLimits(
            bytesMax: GatewayLimits.sendBytesMax, depthMax: GatewayLimits.depthMax,
            keysMax: GatewayLimits.batchFieldsMax))

    init(
        _ owner: LoopOwned<RequestProcessor>, _ environment: StageEnvironment,
        sharedProducer: SharedProducer<PendingEntry>, pendingLimit: PendingRequestLimit,
        rates: CallerRates, metrics: GatewayMetrics, clock: GatewayClock, startStored: AtomicFlag
    ) throws {
        self.owner = owner
        self.environment = environment
        self.sharedProducer = sharedProducer
        self.pendingLimit = pendingLimit
        self.rates = rates
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

    /// Decides a request and takes its first step.
    func process(_ pending: PendingRequest) { process(pending, with: environment.catalog) }

    private func process(_ pending: PendingRequest, with catalog: CatalogSnapshot?) {
        guard let catalog else { return finish(pending, as: .unstored, response: Unavailable.notReady) }
        let access = currentAccess(of: pending.caller, in: catalog)
        guard case .granted(_, let app) = access else {
            // There is always a refusal, because the access is not granted.
            let refusal = APIKeyHeader.refusal(for: access)?.response
            return finish(pending, as: .refused, response: refusal ?? Unavailable.unstored)
        }
        var context = makeContext(
            for: pending.input, of: pending.caller, app: app, catalog: catalog, reader: reader)
        context.isCatalogCurrent = pending.hasReadCatalog
        do throws(RefusedRequest) {
            carryOut(try pending.decide(context), of: pending, at: context.acceptedAt)
        } catch {
            if error.hasUnknownName, !pending.hasReadCatalog { return readCatalogAndRetry(pending) }
            finish(pending, as: .refused, response: error.response)
        }
    }

    /// Checks the caller's key again. It may have been revoked, or its app deleted, since `Authorization` read the
    /// request's head.
    func currentAccess(of caller: RequestCaller, in catalog: CatalogSnapshot) -> AccessDecision {
        guard let key = catalog.keys[caller.key.id] else { return .revoked }
        return catalog.access(with: key, for: caller.key.role, now: clock.now)
    }

    /// Makes the input of the decision.
    func makeContext(
        for input: RequestInput, of caller: RequestCaller, app: App, catalog: CatalogSnapshot,
        reader: JSONReader
    ) -> RequestContext {
        RequestContext(
            body: input.body, headers: input.headers, parameters: input.parameters, query: input.query,
            requestID: input.id, role: caller.key.role, userProofs: userProofs, author: caller.key.id,
            address: caller.address, app: app, catalog: catalog, now: clock.now, reader: reader)
    }

    /// Reads the catalog to its end and decides again. Another gateway may have just created the missing
    /// name, or the object of the request's idempotency key.
    private func readCatalogAndRetry(_ pending: PendingRequest) {
        var pending = pending
        pending.hasReadCatalog = true
        requestsAwaitingCatalog.append(pending)
        readCatalogForWaitingRequests()
    }

    /// Reads the catalog to its end for all waiting requests together. A request that comes during a read waits for the
    /// next one, because the read may miss records that were stored since it began.
    private func readCatalogForWaitingRequests() {
        if isReadingCatalog || requestsAwaitingCatalog.isEmpty { return }
        isReadingCatalog = true
        let requests = requestsAwaitingCatalog
        requestsAwaitingCatalog = []
        environment.refreshCatalog { [requests, owner, pendingLimit] catalog in
            let isTaken = owner.execute {
                $0.isReadingCatalog = false
                for request in requests { $0.process(request, with: catalog) }
                $0.readCatalogForWaitingRequests()
            }
            // The gateway stops, and the thread has ended.
            if !isTaken {
                for request in requests {
                    Self.answer(request, with: Unavailable.overloaded, releasing: pendingLimit)
                }
            }
        }
    }

    // MARK: Storing and answering

    /// Takes the first step of a decision.
    ///
    /// - Parameter acceptedAt: The time of the decision, in milliseconds since 1970.
    private func carryOut(_ decision: RequestDecision, of pending: PendingRequest, at acceptedAt: Int64) {
        switch decision {
        case .answer(let response): finish(pending, as: .answered, response: response)
        case .store(let records, let response): send(records, of: pending, then: .answer(response))
        case .askStage(let request): ask(request, for: pending)
        case .readCatalog:
            precondition(!pending.hasReadCatalog, "the catalog is read to its end once for a request")
            readCatalogAndRetry(pending)
        case .changeCatalog(let change, let response):
            var entry = change.auditEntry(by: pending.caller.key.id, at: acceptedAt)
            (entry.address, entry.requestID) = (pending.caller.address, pending.input.id)
            let record = OutgoingRecord(destination: .catalog, key: change.key, value: change.value)
            // The audit record goes first. If the gateway is killed between the two, the audit has a change
            // that did not happen. The other order would leave a change without an audit record.
            send([.audit(entry)], of: pending, then: .storeCatalogChange(record, response))
        }
    }

    /// Sends records to Kafka. `settle` follows when all are acknowledged, or when one may not be stored.
    func send(_ records: [OutgoingRecord], of pending: PendingRequest, then nextStep: NextStep) {
        sharedProducer.send(.request(pending, then: nextStep), records: records.count) { index, queue in
            let record = records[index]
            return queue(
                record.destination.rawValue, record.partition, record.key.span, record.value?.span)
        }
    }

    /// Takes the next step of a request whose records are stored, or whose storing failed.
    private func settle(_ pending: PendingRequest, nextStep: NextStep, isStored: Bool) {
        switch nextStep {
        // The reply of the other stage may have come already, which proves that the records are stored.
        case .awaitReply(let name, let milliseconds):
            settleStageRequest(
                of: pending, replyName: name, waitMilliseconds: milliseconds, isStored: isStored)
        // The other steps follow only if all records are stored.
        case _ where !isStored: finish(pending, as: .unstored, response: Unavailable.unstored)
        case .answer(let response): finish(pending, as: .accepted, response: response)
        case .storeCatalogChange(let record, let response):
            send([record], of: pending, then: .readCatalogChange(response))
        case .readCatalogChange(let response): readCatalogAndFinish(pending, response: response)
        }
    }

    /// Reads the catalog to its end, which includes the stored change, and answers.
    private func readCatalogAndFinish(_ pending: PendingRequest, response: HTTPResponse) {
        environment.refreshCatalog { [pending, owner, pendingLimit] _ in
            let isTaken = owner.execute { $0.finish(pending, as: .accepted, response: response) }
            // The gateway stops, and the thread has ended.
            if !isTaken { Self.answer(pending, with: Unavailable.unstored, releasing: pendingLimit) }
        }
    }

    /// Answers a request, which ends it. Every request comes here once, unless the gateway stops.
    func finish(_ pending: PendingRequest, as outcome: RequestOutcome, response: HTTPResponse) {
        metrics.batchSeconds.observe(Instant.now().seconds(since: pending.receivedAt))
        metrics.countRequest(kind: pending.kind, outcome: outcome)
        Self.answer(pending, with: response, releasing: pendingLimit)
    }

    /// Gives the answer to the client, or to the request's batch.
    private static func answer(
        _ pending: PendingRequest, with response: HTTPResponse, releasing pendingLimit: PendingRequestLimit
    ) {
        switch pending.answer {
        case .client(let reply, let bodyBytes):
            pendingLimit.release(bytes: bodyBytes)
            reply.send(response)
        case .batch(let batch, let index): batch.answer(response, at: index)
        }
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
        sharedProducer.send(.start, records: 1) { _, queue in
            queue(OutgoingRecord.Destination.audit.rawValue, nil, entry.key.span, entry.encoded().span)
        }
    }
}
