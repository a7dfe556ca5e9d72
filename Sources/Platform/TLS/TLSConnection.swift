package import Lifecycle

/// A TLS connection over TCP on an event loop, for clients and servers. It pulls its output: data stays with
/// the owner (the delegate) until the socket can take it. So no output queues here, and newer data can
/// replace older data.
///
/// At the end of an iteration of the loop the owner fills records of 16 KiB. Their ciphertext becomes one
/// `send` of up to `TLSScratchBuffers.ciphertextBytes`. More data waits for the next iteration. While the
/// socket is full, nothing is pulled.
///
/// It is confined to its loop, and every call of the owner checks this.
package final class TLSConnection: TCPConnectionDelegate, IterationHook {
    package static let handshakeMillisecondsMax = 10_000

    enum TLSPhase {
        case connecting
        case handshaking
        case open
        /// The owner has called `finish`. Its remaining data is sent. Then the peer gets a close alert.
        case finishing
        /// The close alert was sent, and the connection waits for the peer to close.
        case lingering
        /// The connection ends for this reason, the first one. `didClose` is called at the end of the
        /// iteration, or when the TCP connection ends if that is sooner.
        case ending(TLSCloseReason)
        case closed
    }

    package let loop: EventLoop
    let session: TLSSession
    let scratch: TLSScratchBuffers
    /// The name of the peer in messages.
    private let peer: String
    /// Nil after the TCP connection has ended.
    var tcp: TCPConnection?
    /// The owner. It is retained until `didClose`.
    var delegate: (any TLSConnectionDelegate)?
    var phase: TLSPhase
    private var isHookRequested = false
    /// Whether the socket takes more output: false after it refused bytes, until `didBecomeWritable`.
    var canSend = true

    private let startedAt: Instant
    /// The limit for connecting and the handshake.
    private let deadline: Instant
    var timer: LoopTimer?

    private init(
        context: TLSContext, host: String?, peer: String, on loop: EventLoop, deadline: Instant,
        phase: TLSPhase
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.peer = peer
        self.deadline = deadline
        self.phase = phase
        startedAt = loop.now
        scratch = TLSScratchBuffers.forCurrentThread
        session = TLSSession(context: context, host: host, peer: peer, scratch: scratch)
    }

    /// Connects to a server. The delegate gets `didEstablish`, or `didClose` with the reason.
    ///
    /// - Parameters:
    ///   - host: The host to connect to. The server's certificate must be for it.
    ///   - deadline: The limit for connecting and the handshake.
    package static func connect(
        context: TLSContext, host: String, port: Int, on loop: EventLoop, deadline: Instant,
        options: TCPOptions = TCPOptions(), delegate: any TLSConnectionDelegate
    ) -> TLSConnection {
        let connection = TLSConnection(
            context: context, host: host, peer: "\(host):\(port)", on: loop, deadline: deadline,
            phase: .connecting)
        connection.delegate = delegate
        connection.tcp = TCPConnection.connect(
            host: host, port: port, on: loop, deadline: deadline, options: options, delegate: connection)
        return connection
    }

    /// Makes the server's side of an accepted TCP connection. A `TCPListener.AcceptHandler` returns it as the
    /// delegate of the TCP connection.
    package static func accept(
        _ tcp: TCPConnection, context: TLSContext, delegate: (TLSConnection) -> any TLSConnectionDelegate
    ) -> TLSConnection {
        let peer = tcp.peer?.description ?? "a disconnected peer"
        let deadline = tcp.loop.now.advanced(byMilliseconds: handshakeMillisecondsMax)
        let connection = TLSConnection(
            context: context, host: nil, peer: peer, on: tcp.loop, deadline: deadline, phase: .handshaking)
        connection.tcp = tcp
        connection.delegate = delegate(connection)
        connection.startHandshakeTimer()
        return connection
    }

    private func startHandshakeTimer() {
        let timer = LoopTimer(on: loop) { [weak self] in self?.handleHandshakeTimeout() }
        timer.schedule(at: deadline)
        self.timer = timer
    }

    private func handleHandshakeTimeout() {
        guard case .handshaking = phase else { return }
        refuse(because: .handshakeTimeout(peer: peer, milliseconds: deadline.milliseconds(since: startedAt)))
    }

    // MARK: Calls from the owner

    /// Requests a call of `fill` at the end of this iteration. Repeated requests cost almost nothing.
    package func requestFill() {
        loop.preconditionOnLoop()
        requestHook()
    }

    /// Calls `fill` now and sends the result, for an owner with much data. Each call makes a record and a
    /// `send`. Without an established connection, and after `finish`, it does nothing.
    package func fillNow() {
        loop.preconditionOnLoop()
        if case .open = phase { sendPlaintext() }
    }

    /// Stops reading, so that the peer must wait.
    package func pauseReading() {
        loop.preconditionOnLoop()
        tcp?.pauseReading()
    }

    package func resumeReading() {
        loop.preconditionOnLoop()
        tcp?.resumeReading()
    }

    /// Sends the data that `fill` still returns, sends a close alert, and closes when the peer has closed or
    /// after a few seconds.
    package func finish() {
        loop.preconditionOnLoop()
        switch phase {
        case .open: phase = .finishing
        case .connecting, .handshaking: return close()
        case .finishing, .lingering, .ending, .closed: return
        }
        requestHook()
    }

    /// Closes at once. Unsent data is dropped.
    package func close() {
        loop.preconditionOnLoop()
        end(because: .closedLocally)
        tcp?.close()
    }

    /// Closes at once and sends RST, so that the peer sees a broken connection.
    package func reset() {
        loop.preconditionOnLoop()
        end(because: .closedLocally)
        tcp?.reset()
    }

    // MARK: Calls from TCP

    package func didConnect() {
        guard case .connecting = phase else { return }
        phase = .handshaking
        startHandshakeTimer()
        processInput()
    }

    package func didReceive(_ ciphertext: UnsafeRawBufferPointer) {
        guard isAlive else { return }
        unsafe session.provideInput(ciphertext)
        processInput()
    }

    package func didBecomeWritable() {
        canSend = true
        requestHook()
    }

    package func didClose(reason: TCPCloseReason) {
        tcp = nil
        switch phase {
        case .closed: return
        case .ending(let earlierReason): reportClose(reason: earlierReason)
        case .lingering: reportClose(reason: .closedLocally)
        case .connecting: reportClose(reason: .transport(reason))
        case .handshaking: reportClose(reason: closeReason(duringHandshake: reason))
        case .open, .finishing:
            if case .closedByPeer = reason {
                reportClose(reason: .closedByPeer(withCloseAlert: false))
            } else {
                reportClose(reason: .transport(reason))
            }
        }
    }

    private func closeReason(duringHandshake reason: TCPCloseReason) -> TLSCloseReason {
        switch reason {
        case .closedByPeer: .refused(.endedInHandshake(peer: peer))
        case .broken(let error): .refused(.handshake(peer: peer, reason: error.description))
        case .closedLocally, .notConnected, .outboundLimitReached: .transport(reason)
        }
    }

    // MARK: End

    /// Notes the reason of the end, if it is the first. The delegate gets it at the end of the iteration.
    func end(because reason: TLSCloseReason) {
        switch phase {
        case .ending, .closed: return
        case .connecting, .handshaking, .open, .finishing, .lingering: phase = .ending(reason)
        }
        timer?.cancel()
        requestHook()
    }

    private func reportClose(reason: TLSCloseReason) {
        phase = .closed
        timer?.cancel()
        let delegate = delegate
        self.delegate = nil
        delegate?.didClose(reason: reason)
    }

    func requestHook() {
        guard !isHookRequested else { return }
        isHookRequested = true
        loop.callAtEndOfIteration(self)
    }

    package func iterationWillEnd() {
        isHookRequested = false
        switch phase {
        case .open, .finishing: sendPlaintext()
        case .ending(let reason): reportClose(reason: reason)
        case .connecting, .handshaking, .lingering, .closed: break
        }
    }
}
