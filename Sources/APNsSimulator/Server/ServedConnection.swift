internal import APNs
internal import HTTP2
internal import Lifecycle
internal import LiveActivity
internal import TLS

/// One connection to the simulated APNs: requests come out of its HTTP/2 session, are judged, and
/// answered as the verdict, the phones and the misbehaviour say.
///
/// Confined to the simulator's event loop.
final class ServedConnection: TLSConnectionDelegate {
    let simulator: Simulator
    let port: ServedPort
    let number: Int
    let transport: any ConnectionTransport
    let session: ServerSession
    private(set) var lastRequestAt: Instant
    var standing: ConnectionStanding
    private var requests = 0
    var faults = ConnectionFaults()
    /// Replies that wait for their time.
    private var owed = 0
    /// Requests that are never answered, as long as their streams are open.
    private var silent: [ServerStream] = []
    /// Journal entries of answers that have not left yet, by stream.
    private var leaving: [Int32: (stream: ServerStream, entry: JournalEntry)] = [:]

    init(_ transport: any ConnectionTransport, _ simulator: Simulator, _ port: ServedPort, number: Int) {
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

    // MARK: The connection's calls

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
            // In the next turn: what was pulled is sent in this one.
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
        for (_, (_, entry)) in leaving { journal(entry, left: false) }
        leaving.removeAll()
        simulator.closed(self)
    }

    /// Ends the connection when all is over: by HTTP/2's rules, or after a GOAWAY that says so.
    private func endIfDone() {
        if session.isOver, !faults.staysOpen || session.events.failure != nil { return transport.finish() }
        guard faults.closesWhenDone, owed == 0, !session.wantsToSend else { return }
        silent.removeAll { !session.isOpen($0) }
        if session.openStreams == silent.count { transport.finish() }
    }

    // MARK: Requests

    private func serveAll() {
        let batch = session.requests
        let time = simulator.clock()
        for request in batch.requests { serve(request, batch, at: time) }
    }

    private func serve(_ incoming: IncomingRequest, _ batch: RequestBatch, at time: Int64) {
        requests += 1
        let request = ReceivedRequest(batch, incoming)
        var facts = RequestFacts(
            environment: port.environment, connection: number, requestOfConnection: requests,
            request: simulator.countRequest(), stream: incoming.stream.number, receivedAt: time)
        var verdict = simulator.judge.judge(request, on: port, &standing, &facts)
        if simulator.isStopping { verdict = .refused(.shutdown) }
        let ruling = simulator.mischief?.ruling(for: facts) ?? .none
        if case .goaway = ruling.connection { apply(ruling.connection, at: facts.stream) }

        let isDirect = port.kind == .push && facts.kind != .broadcast
        var exchange = Exchange(
            stream: incoming.stream,
            course: incoming.headersAreCut ? .answerBody(status: 431, body: []) : ruling.course,
            verdict: verdict, facts: facts, isDirect: isDirect
        )
        if simulator.journal != nil { exchange.entry = JournalEntry(request, facts, batch, incoming) }
        let given = request.bytes.span.extracting(request.idRange(isDirect: isDirect) ?? 0..<0)
        if !Text.isCanonicalUUID(given) {
            settle(exchange, id: simulator.ids.next(), after: ruling.delayMilliseconds)
        } else if ruling.delayMilliseconds > 0 {
            settle(exchange, id: Text.array(given), after: ruling.delayMilliseconds)
        } else {
            settle(exchange, id: given)
        }
        if case .goaway = ruling.connection { return }
        apply(ruling.connection, at: facts.stream)
    }

    private func settle(_ exchange: Exchange, id: [UInt8], after milliseconds: Int) {
        guard milliseconds > 0 else { return settle(exchange, id: id.span) }
        owed += 1
        simulator.waiting.add(milliseconds: milliseconds) { [self] in
            owed -= 1
            settle(exchange, id: id.span)
            transport.wantsToSend()
        }
    }

    /// Does what the course says, now. A request that waited is processed whether or not its sender
    /// still does, unless a GOAWAY has said meanwhile that it is not.
    private func settle(_ exchange: Exchange, id: Span<UInt8>) {
        var exchange = exchange
        guard exchange.stream.number <= faults.lastStream else {
            return end(&exchange, id, .notProcessed)
        }
        faults.settledStream = max(faults.settledStream, exchange.stream.number)
        switch exchange.course {
        case .judge: send(simulator.process(&exchange), exchange, id)
        case .answer(200, _, _, _): send(.accepted, exchange, id)
        case .answer(let status, let reason, let timestamp, let retryAfter):
            let reply = Reply.refused(
                status: status, reason: reason, timestamp: timestamp, retryAfterSeconds: retryAfter)
            send(reply, exchange, id)
        case .answerBody(let status, let body): send(.body(status: status, body), exchange, id)
        case .reset(let code, let processed):
            if processed { _ = simulator.process(&exchange) }
            session.reset(exchange.stream, code)
            end(&exchange, id, .reset(code))
        case .silence(let processed):
            if processed { _ = simulator.process(&exchange) }
            if session.isOpen(exchange.stream) { silent.append(exchange.stream) }
            end(&exchange, id, .silence)
        }
    }

    private func send(_ reply: Reply, _ exchange: Exchange, _ id: Span<UInt8>) {
        let isUnique =
            reply.status == 200
            && (exchange.facts.kind == .broadcast
                || exchange.facts.kind == .push && port.environment == .sandbox)
        let isSent = simulator.frames.answer(
            reply, to: exchange.stream, of: session, id: id, isDirect: exchange.isDirect, isUnique: isUnique)
        let isBadToken = reply.status == 400 && reply.reason == Reason.badDeviceToken.rawValue
        switch standing.answered(reply.status, isBadToken: isBadToken) {
        case .none: break
        case .allow(let streams): allow(streams: streams)
        case .end: leave(saying: reply.reason ?? "TooManyErrors", .enhanceYourCalm)
        }
        guard var entry = exchange.entry else { return }
        entry.id = Text.string(id)
        entry.end = .answered(status: reply.status, reason: reply.reason, left: false)
        entry.isDelivered = exchange.isDelivered
        if isSent {
            leaving[exchange.stream.number] = (exchange.stream, entry)
        } else {
            journal(entry, left: false)
        }
    }

    // MARK: The journal

    private func end(_ exchange: inout Exchange, _ id: Span<UInt8>, _ end: JournalEntry.End) {
        guard var entry = exchange.entry else { return }
        entry.id = Text.string(id)
        entry.end = end
        entry.isDelivered = exchange.isDelivered
        entry.endedAt = simulator.clock()
        simulator.journal?.ended(entry)
    }

    private func journal(_ entry: JournalEntry, left: Bool) {
        var entry = entry
        if case .answered(let status, let reason, _) = entry.end {
            entry.end = .answered(status: status, reason: reason, left: left)
        }
        entry.endedAt = simulator.clock()
        simulator.journal?.ended(entry)
    }

    /// - Parameter isCut: the last frame pulled was cut, so that nobody can say which answer it ended.
    private func noteLeft(isCut: Bool) {
        guard !leaving.isEmpty else { return }
        for number in session.takeLeftAnswers() {
            if let (_, entry) = leaving.removeValue(forKey: number) { journal(entry, left: !isCut) }
        }
        for (number, (stream, entry)) in leaving where !session.isOpen(stream) {
            leaving[number] = nil
            journal(entry, left: false)
        }
    }
}
