internal import CLinux
internal import Glibc

/// A non-blocking TCP connection on an event loop. Output is collected during an iteration of the loop, and
/// sent in one call at its end. Input comes in pieces of up to `EventLoop.readBufferBytes`.
///
/// The socket is watched edge-triggered for both directions at once, so that `epoll_ctl` is called only once.
/// In return, this object must remember whether the socket may have more input or space for output.
///
/// It is confined to its loop, and every method checks that.
package final class TCPConnection: EventHandler, IterationHook {
    enum TCPPhase {
        case connecting
        case open
        /// The owner has called `finish`. The waiting bytes are sent. Then the connection waits for the
        /// peer's end.
        case finishing
        /// The socket is closed, and the delegate has not received `didClose` yet.
        case ending(TCPCloseReason)
        case closed
    }

    /// The threshold of waiting bytes at which `send` writes at once, from the caller's memory.
    static let flushBytes = 64 * 1024
    /// The time that `finish` waits for a peer that neither reads nor closes.
    private static let lingerMilliseconds = 5_000
    /// The bytes that a peer may send after `finish`. Beyond this limit the connection is closed.
    static let droppedBytesMax = 1 << 20

    package let loop: EventLoop
    var delegate: (any TCPConnectionDelegate)?
    let options: TCPOptions
    var descriptor: Int32
    var phase: TCPPhase
    private var connector: TCPConnector?
    private var onClose: (() -> Void)?
    private var lingerTimer: LoopTimer?

    /// The error of a broken connection. At the end of the iteration the peer's last bytes are read, and then
    /// the connection ends.
    private(set) var failure: SystemError?
    private var isHookRequested = false

    // Output.
    var output = SocketOutput()
    /// Whether the delegate waits for `didBecomeWritable`.
    var mustReportWritable = false
    /// The number of waiting bytes at or below which `didBecomeWritable` is called.
    var writableAtBytes = 0
    /// Whether the output ends (`SHUT_WR`) as soon as no bytes wait.
    var endsOutputWhenSent = false
    var isOutputShut = false

    // Input.
    /// False while the owner has paused reading, and after the end of input.
    var isReading = true
    /// Whether the socket may have bytes or the peer's end to read.
    var mayHaveInput = false
    /// Whether epoll has reported the peer's end, which may still have to be read.
    var hasPeerEnded = false
    /// Whether the peer's end was read.
    var hasInputEnded = false
    /// Bytes that were read and dropped after `finish`.
    var droppedBytes = 0

    // MARK: Creation

    /// Takes over an accepted socket. `onClose` is called after `didClose`.
    init(accepted descriptor: Int32, on loop: EventLoop, options: TCPOptions, onClose: @escaping () -> Void) {
        self.loop = loop
        self.options = options
        self.descriptor = descriptor
        self.onClose = onClose
        phase = .open
    }

    private init(on loop: EventLoop, options: TCPOptions) {
        self.loop = loop
        self.options = options
        descriptor = -1
        phase = .connecting
    }

    /// Takes over a connected socket.
    package static func adopt(
        _ descriptor: Int32, on loop: EventLoop, options: TCPOptions = TCPOptions(),
        delegate: any TCPConnectionDelegate
    ) -> TCPConnection {
        loop.preconditionOnLoop()
        let connection = TCPConnection(accepted: descriptor, on: loop, options: options) {}
        connection.start(with: delegate)
        return connection
    }

    /// Resolves the host and tries its addresses in turn until `deadline`. The delegate gets `didConnect`, or
    /// `didClose` with the reason.
    package static func connect(
        host: String, port: Int, on loop: EventLoop, deadline: Instant, options: TCPOptions = TCPOptions(),
        delegate: any TCPConnectionDelegate
    ) -> TCPConnection {
        loop.preconditionOnLoop()
        let connection = TCPConnection(on: loop, options: options)
        connection.delegate = delegate
        let connector = TCPConnector(
            host: host, port: port, on: loop, deadline: deadline, addressProblem: options.addressProblem
        ) { result in
            connection.connector = nil
            switch result {
            case .success(let descriptor): connection.adopt(descriptor)
            case .failure(let failure): connection.end(because: .notConnected(failure.description))
            }
        }
        connection.connector = connector
        connector.start()
        return connection
    }

    /// Takes over the socket that the connector has connected.
    private func adopt(_ descriptor: Int32) {
        self.descriptor = descriptor
        phase = .open
        guard watch() else { return }
        requestHook()
        delegate?.didConnect()
    }

    /// Starts an accepted connection.
    func start(with delegate: any TCPConnectionDelegate) {
        self.delegate = delegate
        if isOpen { _ = watch() }
    }

    /// Returns false if the socket cannot be watched. The connection has ended then.
    private func watch() -> Bool {
        options.apply(to: descriptor)
        do {
            try loop.register(
                descriptor, for: [.readable, .writable, .inputEnded, .edgeTriggered], handler: self)
            return true
        } catch {
            end(because: .broken(error))
            return false
        }
    }

    package var peer: SocketAddress? { SocketAddress.peer(of: descriptor) }
    package var local: SocketAddress? { SocketAddress.local(of: descriptor) }

    // MARK: Ending

    /// Ends the output after the waiting bytes. Input continues.
    package func shutdownOutput() {
        loop.preconditionOnLoop()
        endsOutputWhenSent = true
        requestHook()
    }

    /// Sends the waiting bytes and ends output. The connection closes when the peer has closed, or after five
    /// seconds. An immediate close could reset the connection before the peer has read the last bytes.
    package func finish() {
        loop.preconditionOnLoop()
        guard isOpen else { return close() }
        phase = .finishing
        endsOutputWhenSent = true
        isReading = !hasInputEnded
        let timer = LoopTimer(on: loop) { [weak self] in self?.end(because: .closedLocally) }
        timer.schedule(at: loop.now.advanced(byMilliseconds: TCPConnection.lingerMilliseconds))
        lingerTimer = timer
        mayHaveInput = true
        requestHook()
    }

    /// Closes at once and drops the waiting bytes. `didClose` comes at the end of the iteration.
    package func close() { end(because: .closedLocally) }

    /// Closes at once and sends RST, so that the peer sees a broken connection.
    package func reset() {
        if descriptor >= 0 { _ = linux_reset_on_close(descriptor) }
        close()
    }

    /// Closes the socket. The delegate gets the reason at the end of the iteration.
    func end(because reason: TCPCloseReason) {
        loop.preconditionOnLoop()
        switch phase {
        case .ending, .closed: return
        case .connecting, .open, .finishing: phase = .ending(reason)
        }
        connector?.cancel()
        connector = nil
        lingerTimer?.cancel()
        if descriptor >= 0 {
            loop.deregister(descriptor)
            Glibc.close(descriptor)
            descriptor = -1
        }
        output.pendingBytes.release()
        requestHook()
    }

    // MARK: The loop's calls

    package func didBecomeReady(_ readiness: Readiness) {
        if readiness.contains(.failed) {
            let code = linux_socket_error(descriptor)
            if code != 0 { return fail(with: SystemError(action: "keep the connection", code: code)) }
        }
        if !readiness.isDisjoint(with: [.inputEnded, .hungUp]) { hasPeerEnded = true }
        if !readiness.isDisjoint(with: [.readable, .inputEnded, .hungUp]) {
            mayHaveInput = true
            if isReading { read() }
        }
        if readiness.contains(.writable) {
            let wasBlocked = output.unblock()
            if wasBlocked { requestHook() }
        }
    }

    /// Ends the connection at the end of the iteration, after the peer's last bytes, which may be answers.
    func fail(with error: SystemError) {
        guard failure == nil else { return }
        failure = error
        output.pendingBytes.release()
        requestHook()
    }

    package func loopWillEnd() { close() }

    func requestHook() {
        guard !isHookRequested else { return }
        isHookRequested = true
        loop.callAtEndOfIteration(self)
    }

    package func iterationWillEnd() {
        isHookRequested = false
        switch phase {
        case .connecting, .closed: return
        case .ending(let reason): return reportClose(reason: reason)
        case .open, .finishing: break
        }
        if let failure {
            readRemainingInput()
            return end(because: .broken(failure))
        }
        flush()
        if mayHaveInput, isReading, descriptor >= 0 { read() }
        if mustReportWritable, isOpen, output.pendingBytes.count <= writableAtBytes {
            mustReportWritable = false
            delegate?.didBecomeWritable()
        }
    }

    private func reportClose(reason: TCPCloseReason) {
        phase = .closed
        let delegate = delegate
        self.delegate = nil
        delegate?.didClose(reason: reason)
        onClose?()
        onClose = nil
    }
}
