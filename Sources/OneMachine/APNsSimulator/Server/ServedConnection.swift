internal import APNs
internal import HTTP2
internal import Lifecycle
internal import LiveActivity
internal import TLS

/// One connection to the simulated APNs. It takes requests from its HTTP/2 session, has them judged, and
/// answers according to the verdict, the phones and the faults.
///
/// It is confined to the simulator's event loop.
final class ServedConnection: TLSConnectionDelegate {
    let simulator: Simulator
    let port: ServedPort
    let number: Int
    let transport: any ConnectionTransport
    let session: ServerSession
    private(set) var lastRequestAt: Instant
    // Exclusivity is unchecked. Each request accesses these on one thread, and no call made during an access
    // uses them again.
    @safe @exclusivity(unchecked) var standing: ConnectionStanding
    @safe @exclusivity(unchecked) private var requests = 0
    @safe @exclusivity(unchecked) var faults = ConnectionFaults()
    /// Number of delayed replies.
    private var owed = 0
    /// Open streams whose requests are never answered.
    private var silent: [ServerStream] = []
    @safe @exclusivity(unchecked) private var leaving = LeavingAnswers()

    init(_ transport: any ConnectionTransport, simulator: Simulator, port: ServedPort, number: Int) {
        self.transport = transport
        self.simulator = simulator
        self.port = port
        self.number = number
        lastRequestAt = transport.loop.now
        let streams = simulator.settings.streams
        standing = ConnectionStanding(streams)
        var limits = ServerLimits()
        limits.streamsMax = streams.most
        limits.streamsAtFirst = streams.atFirst
        limits.bodyBytesMax = Judge.bodyBytesMax
        session = ServerSession(limits: limits)
        session.keepsLeftAnswers = simulator.journal != nil
    }

    var isIdle: Bool { session.openStreams == 0 }

    // MARK: Calls from the TLS connection

    func established(applicationProtocol: String) { applyFirstFaults() }

    func received(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        if !session.requests.requests.isEmpty {
            lastRequestAt = transport.loop.now
            serveAll()
            session.clearRequests()
        }
        endIfDone()
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let room = faults.room(in: buffer.count)
        guard room > 0 else { return 0 }
        let count = unsafe session.pull(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
        if faults.sent(count) {
            noteLeft(isCut: session.wantsToSend)
            // Reset in the next turn, because the pulled bytes are sent in this turn.
            simulator.waiting.add(milliseconds: 0) { [self] in transport.reset() }
        }
        if count < room {
            noteLeft(isCut: false)
            endIfDone()
        }
        return count
    }

    func closed(_ reason: TLSCloseReason) {
        session.end()
        let time = simulator.clock.now
        for entry in leaving.takeClosed({ _ in false }) { journal(entry, left: false, at: time) }
        simulator.closed(self)
    }

    /// Ends the connection when everything is done: by the rules of HTTP/2, or after a GOAWAY that closes it.
    private func endIfDone() {
        if session.isOver, !faults.staysOpen || session.events.failure != nil { return transport.finish() }
        guard faults.closesWhenDone, owed == 0, !session.wantsToSend else { return }
        silent.removeAll { !session.isOpen($0) }
        if session.openStreams == silent.count { transport.finish() }
    }

    // MARK: Requests

    private func serveAll() {
        let batch = session.requests
        let ahead = simulator.clock.ahead
        let time = simulator.clock.now
        for request in batch.requests { serve(request, batch, at: time, ahead: ahead) }
    }

    private func serve(
        _ incoming: IncomingRequest, _ batch: RequestBatch, at time: Int64, ahead: Int64
    ) {
        requests += 1
        let body = simulator.judge.body(batch.bytes.span.extracting(incoming.body))
        let request = ReceivedRequest(batch, incoming, on: port, body: body) { simulator.ids.next() }
        var facts = RequestFacts(
            environment: port.environment, connection: number, requestOfConnection: requests,
            request: simulator.countRequest(), stream: incoming.stream.number, receivedAt: time,
            clockAhead: ahead)
        var verdict = simulator.judge.judge(request, on: port, standing: &standing, noting: &facts)
        if simulator.isStopping { verdict = .refused(.shutdown) }
        let ruling = simulator.mischief?.ruling(for: facts) ?? .none
        if case .goaway = ruling.connection { apply(ruling.connection, at: facts.stream) }

        let exchange = Exchange(
            stream: incoming.stream,
            course: incoming.headersAreCut ? .answerBody(status: 431, body: []) : ruling.course,
            verdict: verdict, kind: facts.kind, isDirect: request.isDirect,
            isBodiless: request.isMethod("HEAD"), id: request.id,
            entry: simulator.journal == nil ? nil : entry(of: request, in: batch, incoming, facts: facts))
        settle(exchange, after: ruling.delayMilliseconds)
        if case .goaway = ruling.connection { return }
        apply(ruling.connection, at: incoming.stream.number)
    }

    private func entry(
        of request: ReceivedRequest, in batch: RequestBatch, _ incoming: IncomingRequest, facts: RequestFacts
    ) -> JournalEntry {
        JournalEntry(
            facts: facts, request: RecordedRequest(request, batch: batch, incoming: incoming), id: request.id,
            end: .silence, isDelivered: false, endedAt: facts.receivedAt)
    }

    private func settle(_ exchange: Exchange, after milliseconds: Int) {
        guard milliseconds > 0 else { return settle(exchange) }
        owed += 1
        simulator.waiting.add(milliseconds: milliseconds) { [self] in
            owed -= 1
            settle(exchange)
            transport.wantsToSend()
        }
    }

    /// Applies the course now. A delayed request is processed even if its sender no longer waits, unless a
    /// later GOAWAY excluded it.
    private func settle(_ exchange: Exchange) {
        guard exchange.stream.number <= faults.lastStream else { return end(exchange, .notProcessed) }
        faults.settledStream = max(faults.settledStream, exchange.stream.number)
        switch exchange.course {
        case .judge:
            let (reply, isDelivered) = simulator.process(exchange)
            send(reply, exchange, isDelivered: isDelivered)
        case .answer(200, _, _, _): send(.accepted, exchange)
        case .answer(let status, let reason, let timestamp, let retryAfter):
            let reply = Reply.refused(
                status: status, reason: reason, timestamp: timestamp, retryAfterSeconds: retryAfter)
            send(reply, exchange)
        case .answerBody(let status, let body): send(.body(status: status, body), exchange)
        case .reset(let code, let processed):
            let isDelivered = processed && simulator.process(exchange).isDelivered
            session.reset(exchange.stream, code)
            end(exchange, .reset(code), isDelivered: isDelivered)
        case .silence(let processed):
            let isDelivered = processed && simulator.process(exchange).isDelivered
            if session.isOpen(exchange.stream) { silent.append(exchange.stream) }
            end(exchange, .silence, isDelivered: isDelivered)
        }
    }

    private func send(_ reply: Reply, _ exchange: Exchange, isDelivered: Bool = false) {
        let isUnique =
            reply.status == 200
            && (exchange.kind == .broadcast
                || exchange.kind == .push && port.environment == .sandbox)
        let isSent = simulator.frames.answer(
            reply, to: exchange, of: session, isUnique: isUnique)
        let isBadToken = reply.status == 400 && reply.reason == Reason.badDeviceToken.rawValue
        switch standing.answered(reply.status, isBadToken: isBadToken) {
        case .none: break
        case .allow(let streams): allow(streams: streams)
        case .end: leave(saying: reply.reason ?? "TooManyErrors", .enhanceYourCalm)
        }
        guard var entry = exchange.entry else { return }
        entry.end = .answered(status: reply.status, reason: reply.reason, left: false)
        entry.isDelivered = isDelivered
        simulator.journal?.answering(&entry)
        let displaced = isSent ? leaving.add(entry, of: exchange.stream) : entry
        if let displaced { journal(displaced, left: false, at: simulator.clock.now) }
    }

    // MARK: The journal

    private func end(_ exchange: Exchange, _ end: JournalEntry.End, isDelivered: Bool = false) {
        guard var entry = exchange.entry else { return }
        entry.end = end
        entry.isDelivered = isDelivered
        entry.endedAt = simulator.clock.now
        simulator.journal?.ended(entry)
    }

    private func journal(_ entry: consuming JournalEntry, left: Bool, at time: Int64) {
        if left { entry.end.left() }
        entry.endedAt = time
        simulator.journal?.ended(entry)
    }

    /// - Parameter isCut: whether the last frame was truncated, so that the end of its answer is uncertain.
    private func noteLeft(isCut: Bool) {
        guard leaving.count > 0 else { return }
        let time = simulator.clock.now
        session.takeLeftAnswers { stream in
            if let entry = leaving.take(stream) { journal(entry, left: !isCut, at: time) }
        }
        for entry in leaving.takeClosed(session.isOpen) { journal(entry, left: false, at: time) }
    }
}
