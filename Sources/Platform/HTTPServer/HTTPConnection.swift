internal import Lifecycle

/// One connection of a server. It receives libmicrohttpd's callbacks between its start and its end, all on
/// the library's thread of this connection. Other threads use only the clock.
final class HTTPConnection {
    private let core: HTTPServerCore
    private let peer: String
    let clock: TracedLock<ConnectionClock>
    private var target: [UInt8] = []
    private var exchange: Exchange?

    init(core: HTTPServerCore, peer: String, descriptor: Int32) {
        self.core = core
        self.peer = peer
        clock = TracedLock(ConnectionClock(descriptor: descriptor, now: .now()))
    }

    /// Handles the request line. Only this callback sees the raw target; later ones see it decoded.
    func begin(target: [UInt8]) {
        self.target = target
        clock.withLock { $0.beganHead(now: .now()) }
    }

    /// Handles one call of the access handler. The library calls it for the head, for each part of the body,
    /// for the end of
    /// the body, and for the reply. Returns false if the connection must end without an answer.
    func proceed(_ call: HTTPCall) -> Bool {
        guard exchange != nil else { return begin(call) }
        if call.bodyBytes > 0 { return receive(call) }
        return answer(call.connection)
    }

    func completed() {
        endExchange()
        clock.withLock { $0.beIdle(now: .now()) }
    }

    /// Handles the end of the connection. The library closes the descriptor when this returns.
    func closed() {
        clock.withLock { $0.descriptor = -1 }
        endExchange()
    }

    private func endExchange() {
        guard exchange != nil else { return }
        exchange?.release(to: core.bodies)
        exchange = nil
        core.exchangeEnded()
    }

    private func begin(_ call: HTTPCall) -> Bool {
        core.exchangeBegan()
        do {
            let decoded = try call.head(target: target).decode(peer: peer, limits: core.limits)
            let begun = try Exchange(decoded, routes: core.routes, limits: core.limits)
            exchange = begun
            // The peer waits for permission to send its body. It gets the answer at once instead.
            if case .answer = begun.course, begun.asksFirst { return answer(call.connection) }
            return enter(.body(bytes: 0, began: .now()))
        } catch {
            core.metrics?.refused(error.code)
            exchange = Exchange(refused: error)
            // The library closes the connection after an answer that precedes the body.
            return answer(call.connection)
        }
    }

    private func receive(_ call: HTTPCall) -> Bool {
        do {
            try unsafe exchange?.receive(call.body, room: core.bodies)
            let bytes = exchange?.bodyBytes ?? 0
            clock.withLock { $0.received(bodyBytes: bytes) }
            call.consumeBody()
            return true
        } catch {
            core.metrics?.refused(error.code)
            clock.withLock { $0.cut(error) }
            return false
        }
    }

    private func answer(_ connection: MHDConnection) -> Bool {
        switch exchange?.course {
        case .answer(let response): return queue(response, on: connection)
        case .respond(let respond):
            // The peer may already have got 408. Then the request must not be carried out.
            guard let request = exchange?.request, enter(.sending) else { return false }
            return queue(respond(request), on: connection)
        case .handle(let handle, _): return suspend(connection, for: handle)
        case .waiting(let slot): return slot.response.map { queue($0, on: connection) } ?? true
        case nil: return false
        }
    }

    /// Suspends the connection until the reply is ready. Then the library calls the access handler again.
    private func suspend(_ connection: MHDConnection, for handle: HTTPRoutes.Defer) -> Bool {
        guard let request = exchange?.request else { return false }
        guard core.waitBegan() else { return queue(HTTPServerCore.stopping, on: connection) }
        let slot = ReplySlot { [core] in
            connection.resume()
            core.waitEnded()
        }
        exchange?.course = .waiting(slot)
        exchange?.request = nil
        exchange?.release(to: core.bodies)
        // Suspend first: as soon as the clock has the slot, another thread may fill it and resume the
        // connection.
        connection.suspend()
        if enter(.answering(slot)) {
            handle(request, HTTPReply(slot))
        } else {
            slot.fill(HTTPServerCore.tooSlow)
        }
        return true
    }

    private func queue(_ response: HTTPResponse, on connection: MHDConnection) -> Bool {
        enter(.sending)
        core.metrics?.answered(response.status)
        let closes = response.closes || exchange?.closes ?? true || core.isStopping
        return connection.queue(response, closes: closes)
    }

    /// Enters a phase. Returns false if the connection is cut.
    @discardableResult
    private func enter(_ phase: ConnectionClock.Phase) -> Bool {
        clock.withLock { $0.enter(phase, now: .now()) }
    }
}
