package import Lifecycle

/// TLS over TCP on an event loop, for clients and servers. It pulls: data stays with its owner until the
/// socket can take it. So nothing queues here, and newer data can replace older data.
///
/// The plaintext of a turn becomes records of 16 KiB, and their ciphertext becomes one `send` of up to
/// `TLSScratch.ciphertextBytes`. The rest waits for the next turn. While the socket is full, nothing is
/// pulled.
///
/// It is confined to its loop, and every method checks this.
package final class TLSConnection: TCPConnectionDelegate, TurnHook {
    package static let handshakeMillisecondsMax = 10_000

    enum Phase {
        case connecting
        case handshaking
        case open
        /// Sends only the data that the owner has now. Then the peer gets a close alert.
        case finishing
        /// The close alert was sent, and the peer's close is awaited.
        case lingering
        /// `closed` is called at the end of the turn, or at the end of TCP if that is sooner.
        case ending(TLSCloseReason)
        case closed
    }

    package let loop: EventLoop
    let session: TLSSession
    let scratch: TLSScratch
    private let peer: String
    var tcp: TCPConnection?
    var delegate: (any TLSConnectionDelegate)?
    var phase: Phase
    private let began: Instant
    private var deadline: Instant
    var timer: LoopTimer?
    private var isHooked = false
    var hasRoom = true

    private init(
        _ context: TLSContext, host: String?, peer: String, on loop: EventLoop, deadline: Instant,
        phase: Phase
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.peer = peer
        self.deadline = deadline
        self.phase = phase
        began = loop.now
        scratch = TLSScratch.ofThisThread
        session = TLSSession(context, host: host, peer: peer, scratch: scratch)
    }

    /// - Parameters:
    /// - host: the host to connect to, for which the certificate must be valid.
    ///   - deadline: the limit for connecting and the handshake.
    package static func connect(
        _ context: TLSContext, host: String, port: Int, on loop: EventLoop, deadline: Instant,
        options: TCPOptions = TCPOptions(), delegate: any TLSConnectionDelegate
    ) -> TLSConnection {
        let connection = TLSConnection(
            context, host: host, peer: "\(host):\(port)", on: loop, deadline: deadline, phase: .connecting)
        connection.delegate = delegate
        connection.tcp = TCPConnection.connect(
            host: host, port: port, on: loop, deadline: deadline, options: options, delegate: connection)
        return connection
    }

    /// Accepts a connection for a listener's `accept`, which returns this as the delegate of the TCP
    /// connection.
    package static func accept(
        _ tcp: TCPConnection, _ context: TLSContext, delegate: (TLSConnection) -> any TLSConnectionDelegate
    ) -> TLSConnection {
        let peer = tcp.peer?.description ?? "a disconnected peer"
        let deadline = tcp.loop.now.advanced(byMilliseconds: handshakeMillisecondsMax)
        let connection = TLSConnection(
            context, host: nil, peer: peer, on: tcp.loop, deadline: deadline, phase: .handshaking)
        connection.tcp = tcp
        connection.delegate = delegate(connection)
        connection.limitHandshake()
        return connection
    }

    private func limitHandshake() {
        let timer = LoopTimer(on: loop) { [weak self] in self?.handshakeTimedOut() }
        timer.schedule(at: deadline)
        self.timer = timer
    }

    private func handshakeTimedOut() {
        guard case .handshaking = phase else { return }
        refuse(.handshakeTimeout(peer: peer, milliseconds: deadline.milliseconds(since: began)))
    }

    // MARK: Calls from the owner

    /// Requests a call of `fill` at the end of this turn. Repeated requests cost almost nothing.
    package func wantsToSend() {
        loop.preconditionOnLoop()
        hook()
    }

    /// Calls `fill` now and sends the result. For an owner with much data, not for each small piece.
    package func sendAhead() {
        loop.preconditionOnLoop()
        if case .open = phase { pump() }
    }

    /// Stops reading, so that the peer must wait.
    package func pauseReading() { tcp?.pauseReading() }
    package func resumeReading() { tcp?.resumeReading() }

    /// Sends the data that `fill` still has, sends a close alert, and closes when the peer has closed or
    /// after a few seconds.
    package func finish() {
        loop.preconditionOnLoop()
        switch phase {
        case .open: phase = .finishing
        case .connecting, .handshaking: return close()
        case .finishing, .lingering, .ending, .closed: return
        }
        hook()
    }

    /// Closes at once. Unsent data is dropped.
    package func close() {
        loop.preconditionOnLoop()
        end(.closedHere)
        tcp?.close()
    }

    /// Closes like `close`, and resets the TCP connection, for tests of the peer's reaction.
    package func reset() {
        loop.preconditionOnLoop()
        end(.closedHere)
        tcp?.reset()
    }

    // MARK: Calls from TCP

    package func connected() {
        guard case .connecting = phase else { return }
        phase = .handshaking
        limitHandshake()
        work()
    }

    package func received(_ ciphertext: UnsafeRawBufferPointer) {
        guard isAlive else { return }
        unsafe session.take(ciphertext)
        work()
    }

    package func writable() {
        hasRoom = true
        hook()
    }

    package func closed(_ reason: TCPCloseReason) {
        tcp = nil
        switch phase {
        case .closed: return
        case .ending(let known): tell(known)
        case .lingering: tell(.closedHere)
        case .connecting: tell(.transport(reason))
        case .handshaking: tell(handshakeEnded(reason))
        case .open, .finishing:
            if case .closedByPeer = reason {
                tell(.closedByPeer(inGoodOrder: false))
            } else {
                tell(.transport(reason))
            }
        }
    }

    private func handshakeEnded(_ reason: TCPCloseReason) -> TLSCloseReason {
        switch reason {
        case .closedByPeer: .refused(.endedInHandshake(peer: peer))
        case .broken(let error): .refused(.handshake(peer: peer, reason: error.description))
        case .closedHere, .notConnected, .outboundFull: .transport(reason)
        }
    }

    // MARK: End

    func end(_ reason: TLSCloseReason) {
        switch phase {
        case .ending, .closed: return
        case .connecting, .handshaking, .open, .finishing, .lingering: phase = .ending(reason)
        }
        timer?.cancel()
        hook()
    }

    private func tell(_ reason: TLSCloseReason) {
        phase = .closed
        timer?.cancel()
        let delegate = delegate
        self.delegate = nil
        delegate?.closed(reason)
    }

    func hook() {
        guard !isHooked else { return }
        isHooked = true
        loop.atEndOfTurn(self)
    }

    package func endOfTurn() {
        isHooked = false
        switch phase {
        case .open, .finishing: pump()
        case .ending(let reason): tell(reason)
        case .connecting, .handshaking, .lingering, .closed: break
        }
    }
}
