internal import APNs
internal import HTTP2
internal import Identifiers
internal import Lifecycle
internal import TLS

/// One connection to the simulated APNs. It takes requests from its HTTP/2 session, lets `RequestValidator`
/// check them, and answers according to the verdict, the phones and the injected faults.
///
/// It is confined to the simulator's event loop.
final class ServedConnection: TLSConnectionDelegate {
    let simulator: Simulator
    let port: ServedPort
    /// Number of the connection, from 1 across all ports.
    let number: Int
    let transport: any ConnectionTransport
    let session: ServerSession
    /// Time of the last request. `Simulator` closes a connection that is idle for too long.
    private(set) var lastRequestAt: Instant
    /// Number of requests whose answer is delayed.
    private var delayedReplies = 0
    /// Open streams whose requests are never answered, because of a fault.
    private var unansweredStreams: [ServerStreamID] = []

    // MARK: Accessed by each request
    //
    // Exclusivity is unchecked to save time: each request accesses these properties on one thread, and no call
    // made during an access uses them again.

    /// The provider token and the number of streams that the client may open.
    @safe @exclusivity(unchecked) var state: ConnectionState
    @safe @exclusivity(unchecked) private var requestCount = 0
    /// The injected faults of the whole connection.
    @safe @exclusivity(unchecked) var faults = ConnectionFaults()
    /// Journal entries of answers that the session has, but has not sent completely.
    @safe @exclusivity(unchecked) var unsentAnswers = UnsentAnswers()

    /// HTTP's answer to header fields that are too large.
    private static let headerFieldsTooLarge = 431

    init(transport: any ConnectionTransport, simulator: Simulator, port: ServedPort, number: Int) {
        self.transport = transport
        self.simulator = simulator
        self.port = port
        self.number = number
        lastRequestAt = transport.loop.now
        let streams = simulator.settings.streams
        state = ConnectionState(settings: streams)
        var limits = ServerLimits()
        limits.streamsMax = streams.streamsMax
        limits.initialStreamsMax = streams.initialStreams
        limits.bodyBytesMax = RequestValidator.bodyBytesMax
        session = ServerSession(limits: limits)
        session.recordsSentResponses = simulator.journal != nil
    }

    /// Whether no request waits for its answer.
    var isIdle: Bool { session.openStreamCount == 0 }

    // MARK: Calls from the TLS connection

    func didEstablish(applicationProtocol: String) { applyInitialFaults() }

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        if !session.requests.requests.isEmpty {
            lastRequestAt = transport.loop.now
            serveRequests()
            session.clearRequests()
        }
        endIfDone()
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let byteCountMax = faults.sendableBytes(of: buffer.count)
        guard byteCountMax > 0 else { return 0 }
        let byteCount = unsafe session.pull(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<byteCountMax]))
        let isResetDue = faults.recordSent(byteCount: byteCount)
        if isResetDue {
            journalSentAnswers(isUncertain: session.wantsToSend)
            // Reset in the loop's next iteration, because the pulled bytes are sent in this one.
            simulator.delayedActions.schedule(afterMilliseconds: 0) { [self] in transport.reset() }
        }
        let isSessionEmpty = byteCount < byteCountMax
        if isSessionEmpty {
            journalSentAnswers(isUncertain: false)
            endIfDone()
        }
        return byteCount
    }

    func didClose(reason: TLSCloseReason) {
        session.end()
        let time = simulator.clock.now
        for entry in unsentAnswers.takeClosed(isOpen: { _ in false }) {
            finishEntry(entry, isSent: false, at: time)
        }
        simulator.connectionDidClose(self)
    }

    /// Ends the connection when everything is done: by the rules of HTTP/2, or after a GOAWAY that closes it.
    private func endIfDone() {
        let isDone =
            switch faults.end {
            case .whenFinished: session.isFinished
            case .whenAnswered: session.isFinished || isEverythingAnswered()
            // A violation of HTTP/2 ends the connection all the same.
            case .never: session.isFinished && session.events.failure != nil
            }
        if isDone { transport.finish() }
    }

    /// Returns whether all answers are sent. Requests that are never answered do not count.
    private func isEverythingAnswered() -> Bool {
        guard delayedReplies == 0, !session.wantsToSend else { return false }
        unansweredStreams.removeAll { !session.isOpen($0) }
        return session.openStreamCount == unansweredStreams.count
    }

    // MARK: Requests

    private func serveRequests() {
        let batch = session.requests
        let clockOffset = simulator.clock.offsetMilliseconds
        let time = simulator.clock.now
        for request in batch.requests { serve(request, of: batch, at: time, clockOffset: clockOffset) }
    }

    /// Validates a request, chooses its faults, and answers it now or after a delay.
    private func serve(
        _ incoming: IncomingRequest, of batch: RequestBatch, at time: Int64, clockOffset: Int64
    ) {
        requestCount += 1
        let body = simulator.validator.sharedBody(copying: batch.bytes.span.extracting(incoming.body))
        let request = ReceivedRequest(batch: batch, request: incoming, port: port, body: body) {
            simulator.requestIDs.next()
        }
        var facts = RequestFacts(
            environment: port.environment, connection: number, requestOfConnection: requestCount,
            request: simulator.nextRequestNumber(), stream: incoming.stream.number, receivedAt: time,
            clockOffsetMilliseconds: clockOffset)
        var verdict = simulator.validator.validate(request, on: port, state: &state, facts: &facts)
        if simulator.isStopping { verdict = .refused(.shutdown) }
        let injected = simulator.faultInjector?.fault(for: facts) ?? .none
        // A GOAWAY comes before the answer, because it can exclude this request. Other faults come after it.
        let isGoaway = if case .goaway = injected.connectionFault { true } else { false }
        if isGoaway { apply(injected.connectionFault, at: facts.stream) }

        // The HTTP layer answers a request whose header fields are too large before a fault could act.
        let requestFault: InjectedFault.RequestFault? =
            incoming.areHeadersTruncated
            ? .answerBody(status: Self.headerFieldsTooLarge, body: []) : injected.requestFault
        let entry: JournalEntry? =
            simulator.journal == nil
            ? nil : journalEntry(for: request, batch: batch, incoming: incoming, facts: facts)
        let exchange = Exchange(
            stream: incoming.stream, requestFault: requestFault, verdict: verdict, kind: facts.kind,
            isPushToToken: request.isPushToToken, omitsBody: request.isMethod("HEAD"), id: request.id,
            entry: entry)
        answer(exchange, afterMilliseconds: injected.delayMilliseconds)
        if !isGoaway { apply(injected.connectionFault, at: facts.stream) }
    }

    /// Returns the entry of a request. Until the outcome is known, the entry says that the request was not
    /// answered.
    func journalEntry(
        for request: ReceivedRequest, batch: RequestBatch, incoming: IncomingRequest, facts: RequestFacts
    ) -> JournalEntry {
        JournalEntry(
            facts: facts, request: RecordedRequest(request, batch: batch, incoming: incoming), id: request.id,
            outcome: .silence, isDelivered: false, endedAt: facts.receivedAt)
    }

    // MARK: Answers

    private func answer(_ exchange: Exchange, afterMilliseconds milliseconds: Int) {
        guard milliseconds > 0 else { return carryOut(exchange) }
        delayedReplies += 1
        simulator.delayedActions.schedule(afterMilliseconds: milliseconds) { [self] in
            delayedReplies -= 1
            carryOut(exchange)
            transport.requestFill()
        }
    }

    /// Processes and answers the request, unless its fault demands something else. A delayed request is
    /// processed even if its sender no longer waits, unless a later GOAWAY excluded it.
    private func carryOut(_ exchange: Exchange) {
        guard exchange.stream.number <= faults.goawayLastStream else {
            return journalUnanswered(exchange, outcome: .notProcessed)
        }
        // A GOAWAY must be truthful: it cannot exclude a request that was carried out.
        faults.settledStream = max(faults.settledStream, exchange.stream.number)
        switch exchange.requestFault {
        case nil:
            let (reply, isDelivered) = simulator.process(exchange)
            send(reply, for: exchange, isDelivered: isDelivered)
        // A scripted 200: the sender learns that the push was accepted, but no phone gets it.
        case .answer(200, _, _, _): send(.accepted, for: exchange)
        case .answer(let status, let reason, let timestamp, let retryAfter):
            let reply = Reply.refused(
                status: status, reason: reason, timestamp: timestamp, retryAfterSeconds: retryAfter)
            send(reply, for: exchange)
        case .answerBody(let status, let body): send(.body(status: status, bytes: body), for: exchange)
        case .reset(let code, let processed):
            let isDelivered = processed && simulator.process(exchange).isDelivered
            session.reset(exchange.stream, code: code)
            journalUnanswered(exchange, outcome: .reset(code), isDelivered: isDelivered)
        case .silence(let processed):
            let isDelivered = processed && simulator.process(exchange).isDelivered
            if session.isOpen(exchange.stream) { unansweredStreams.append(exchange.stream) }
            journalUnanswered(exchange, outcome: .silence, isDelivered: isDelivered)
        }
    }

    /// Sends a reply, adapts the number of streams that the client may open, and passes the entry to the
    /// journal.
    private func send(_ reply: Reply, for exchange: Exchange, isDelivered: Bool = false) {
        // APNs gives a unique id to an accepted broadcast, and in the sandbox also to a push to a token.
        let isSandboxPush = exchange.kind == .push && port.environment == .sandbox
        let mayHaveUniqueID = exchange.kind == .broadcast || isSandboxPush
        let isQueued = simulator.replyEncoder.send(
            reply, for: exchange, on: session, hasUniqueID: reply.status == 200 && mayHaveUniqueID)
        let isBadToken = reply.status == 400 && reply.reason == APNsReason.badDeviceToken.rawValue
        switch state.recordAnswer(status: reply.status, isBadToken: isBadToken) {
        case .none: break
        case .allow(let streams): allow(streams: streams)
        case .close: shutDown(reason: reply.reason ?? "TooManyErrors", code: .enhanceYourCalm)
        }
        journalAnswer(reply, for: exchange, isDelivered: isDelivered, isQueued: isQueued)
    }
}
