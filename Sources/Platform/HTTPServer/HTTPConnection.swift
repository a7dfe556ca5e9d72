internal import Lifecycle

/// One connection of a server. It receives the connection's callbacks from libmicrohttpd, all on one of the
/// library's threads. Other threads use only `deadlines`.
final class HTTPConnection {
    private let serverState: HTTPServerState
    private let peer: String
    let deadlines: TracedLock<ConnectionDeadlines>
    /// The target of the current request as sent.
    private var target: [UInt8] = []
    /// The current request, from its head to the end of its answer.
    private var exchange: HTTPExchange?
    /// The bytes that the current answer has reserved in the server's budget.
    private var answerBytes = 0

    init(serverState: HTTPServerState, peer: String, descriptor: Int32) {
        self.serverState = serverState
        self.peer = peer
        deadlines = TracedLock(ConnectionDeadlines(descriptor: descriptor, now: .now()))
    }

    /// Handles the request line. Later callbacks get the target already decoded.
    func beginRequest(target: [UInt8]) {
        self.target = target
        deadlines.withLock { $0.enterHead(now: .now()) }
    }

    /// Handles one call of the access handler. The library calls it for the head, for each part of the body,
    /// at the end of the body, and after a suspended connection was resumed. Returns false if the connection
    /// must end without an answer.
    func handle(_ call: AccessHandlerCall) -> Bool {
        guard exchange != nil else { return beginExchange(for: call) }
        if call.bodyBytes > 0 { return receiveBody(of: call) }
        return answer(on: call.connection)
    }

    /// Handles the end of a request, after its answer was sent or its connection ended.
    func finishRequest() {
        endExchange()
        deadlines.withLock { $0.enterIdle(now: .now()) }
    }

    /// Handles the end of the connection. The library closes the descriptor when this returns.
    func handleClose() {
        deadlines.withLock { $0.descriptor = -1 }
        endExchange()
    }

    private func endExchange() {
        guard exchange != nil else { return }
        exchange?.release(to: serverState.bodyBudget)
        exchange = nil
        serverState.answerBudget.release(bytes: answerBytes)
        answerBytes = 0
        serverState.endExchange()
    }

    private func beginExchange(for call: AccessHandlerCall) -> Bool {
        serverState.beginExchange()
        var requestID = RequestID.random()
        do {
            let decoded = try call.head(target: target).decode(peer: peer, limits: serverState.limits)
            requestID = decoded.request.id
            let newExchange = try HTTPExchange(
                decoded: decoded, routes: serverState.routes, limits: serverState.limits)
            exchange = newExchange
            deadlines.withLock { $0.requestID = newExchange.conventions.requestID }
            // The peer waits for `100 Continue` before it sends its body. It gets the answer at once instead.
            if case .answer = newExchange.state, newExchange.expectsContinue {
                return answer(on: call.connection)
            }
            return enterPhase(.body(ConnectionDeadlines.BodyProgress(startingAt: .now())))
        } catch {
            serverState.metrics?.countRefusal(code: error.code)
            exchange = HTTPExchange(refused: error, requestID: requestID)
            // The library closes the connection after an answer that precedes the body.
            return answer(on: call.connection)
        }
    }

    private func receiveBody(of call: AccessHandlerCall) -> Bool {
        do {
            try unsafe exchange?.receive(call.body, budget: serverState.bodyBudget)
            let bodyBytes = exchange?.bodyBytes ?? 0
            deadlines.withLock { $0.recordBody(receivedBytes: bodyBytes) }
            call.consumeBody()
            return true
        } catch {
            serverState.metrics?.countRefusal(code: error.code)
            deadlines.withLock { $0.cut(with: error) }
            return false
        }
    }

    /// Handles the end of the body: answers the request, or gives it to its handler.
    private func answer(on connection: MHDConnection) -> Bool {
        switch exchange?.state {
        case .answer(let response): return queue(response, on: connection)
        case .respond(let respond):
            guard let request = exchange?.request else { return false }
            // The peer may already have got 408. Then the request must not be carried out.
            let isConnected = enterPhase(.sending)
            guard isConnected else { return false }
            return queue(respond(request), on: connection)
        case .handle(let handle, _): return suspend(connection, for: handle)
        case .waiting(let slot):
            guard let response = slot.response else { return true }
            return queue(response, on: connection)
        case .sending, nil: return false
        }
    }

    /// Suspends the connection until the reply is ready. Then the library calls the access handler again.
    private func suspend(_ connection: MHDConnection, for handle: HTTPRoutes.DeferredHandler) -> Bool {
        guard let request = exchange?.request else { return false }
        guard serverState.beginSuspension() else { return queue(HTTPServerState.stopping, on: connection) }
        let slot = ReplySlot { [serverState] in
            connection.resume()
            serverState.endSuspension()
        }
        exchange?.state = .waiting(slot)
        exchange?.request = nil
        exchange?.release(to: serverState.bodyBudget)
        // The connection must be suspended first. As soon as `deadlines` has the slot, another thread may
        // fill it and resume the connection.
        connection.suspend()
        if enterPhase(.answering(slot)) {
            handle(request, HTTPReply(slot: slot))
        } else {
            slot.fill(with: HTTPServerState.tooSlow)
        }
        return true
    }

    private func queue(_ handlerResponse: HTTPResponse, on connection: MHDConnection) -> Bool {
        enterPhase(.sending)
        // The library copies the body. The new state releases the handler's body, so that only the copy is in memory.
        exchange?.state = .sending
        let ownResponse = reserveMemory(for: handlerResponse) ? handlerResponse : HTTPServerState.answersFull
        let response = exchange?.conventions.apply(to: ownResponse) ?? ownResponse
        serverState.metrics?.countAnswer(status: response.status)
        noteAnswer(status: response.status)
        let exchangeCloses = exchange?.closesConnection ?? true
        let closes = response.closesConnection || exchangeCloses || serverState.isStopping
        return connection.queue(response, closesConnection: closes)
    }

    private func noteAnswer(status: Int) {
        guard let onAnswer = serverState.onAnswer, let exchange else { return }
        onAnswer(
            HTTPAnswerNote(
                requestID: exchange.conventions.requestID, route: exchange.route, status: status))
    }

    /// Reserves memory for the body of the answer. Returns false if the server's budget is used up. A short body
    /// needs no reservation, so that slow readers of long answers do not disturb other calls.
    private func reserveMemory(for response: HTTPResponse) -> Bool {
        guard response.body.count > HTTPLimits.shortAnswerBytesMax else { return true }
        guard serverState.answerBudget.reserve(bytes: response.body.count) else {
            serverState.metrics?.countRefusal(code: "answers_full")
            return false
        }
        answerBytes = response.body.count
        return true
    }

    /// Enters a phase. Returns false if the connection is cut.
    @discardableResult
    private func enterPhase(_ phase: ConnectionDeadlines.RequestPhase) -> Bool {
        deadlines.withLock { $0.enter(phase, now: .now()) }
    }
}
