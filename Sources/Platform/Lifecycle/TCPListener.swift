internal import CLinux
internal import Glibc
internal import Synchronization

/// A listener that accepts TCP connections and distributes them over event loops.
///
/// Limits: at `connectionsMax` open connections it stops accepting until one closes. Further peers wait in
/// the kernel's backlog. If the process has no free descriptor, the listener closes a reserved one, accepts
/// and closes the waiting peer, so that the peer does not hang, and reserves a descriptor again. Then it
/// pauses for `pauseMilliseconds`, so that it does not spin.
///
/// `@unchecked Sendable`: Mutable state is used on the first loop only. The count and the flag are atomic.
package final class TCPListener: EventHandler, @unchecked Sendable {
    /// Called on the connection's loop for each connection. Returns its delegate, or nil to close the
    /// connection.
    package typealias AcceptHandler = @Sendable (TCPConnection) -> (any TCPConnectionDelegate)?

    private static let backlog: Int32 = 1024
    private static let acceptsPerIteration = 64
    private static let pauseMilliseconds = 100

    /// The bound address. The system chooses the port if the requested port is 0.
    package let address: SocketAddress
    package let connectionsMax: Int
    private let loops: [EventLoop]
    private let options: TCPOptions
    private let accept: AcceptHandler
    private let openConnections = Atomic<Int>(0)
    /// Whether the listener waits at `connectionsMax` for a connection to close.
    private let isFull = Atomic<Bool>(false)
    private var descriptor: Int32
    private var reserveDescriptor: Int32
    /// Whether the loop watches the descriptor. It does not during a pause.
    private var isWatched = false
    /// The index of the loop that gets the next connection.
    private var nextLoop = 0
    /// Ends a pause.
    private var pauseTimer: LoopTimer?

    package var port: Int { address.port }
    package var connectionCount: Int { openConnections.load(ordering: .relaxed) }

    /// Binds and starts to accept. It must not be called on a loop's thread. An empty host or `*` means all
    /// addresses.
    package init(
        host: String, port: Int, on loops: [EventLoop], connectionsMax: Int,
        options: TCPOptions = TCPOptions(),
        accept: @escaping AcceptHandler
    ) throws {
        precondition(!loops.isEmpty, "a listener needs an event loop")
        self.loops = loops
        self.connectionsMax = connectionsMax
        self.options = options
        self.accept = accept
        (descriptor, address) = try TCPListener.bind(host: host, port: port)
        reserveDescriptor = TCPListener.openReserveDescriptor()
        loops[0].execute { self.startAccepting() }
    }

    /// Returns a listening socket and its bound address, for servers that accept connections themselves.
    package static func bind(
        host: String, port: Int
    ) throws -> (descriptor: Int32, address: SocketAddress) {
        let address = try SocketAddress.resolve(host: host, port: port, listening: true).get().first
        let action = "listen on \(host):\(port)"
        guard let address else { throw SystemError(action: action, code: EADDRNOTAVAIL) }
        let descriptor = linux_tcp_socket(address.family)
        guard descriptor >= 0 else { throw SystemError(action: action, code: errno) }
        _ = linux_socket_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        guard unsafe address.withPointer({ unsafe Glibc.bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, backlog) == 0
        else {
            let code = errno
            Glibc.close(descriptor)
            let remedy = code == EACCES ? "choose a port above 1023 or give the process the right to it" : nil
            throw SystemError(action: action, code: code, remedy: remedy)
        }
        guard let bound = SocketAddress.local(of: descriptor) else {
            let code = errno
            Glibc.close(descriptor)
            throw SystemError(action: "read the port of a listening socket", code: code)
        }
        return (descriptor, bound)
    }

    private static func openReserveDescriptor() -> Int32 { unsafe linux_open("/dev/null", O_RDONLY, 0) }

    private func startAccepting() {
        guard descriptor >= 0 else { return }
        pauseTimer = LoopTimer(on: loops[0]) { [weak self] in self?.setWatching(true) }
        setWatching(true)
    }

    /// Stops accepting and frees the port before it returns. Connections stay open. It must not be called on
    /// a loop's thread.
    package func stop() {
        if loops[0].perform({ self.end() }) == nil { end() }
    }

    private func end() {
        guard descriptor >= 0 else { return }
        pauseTimer?.cancel()
        setWatching(false)
        Glibc.close(descriptor)
        if reserveDescriptor >= 0 { Glibc.close(reserveDescriptor) }
        descriptor = -1
        reserveDescriptor = -1
    }

    package func loopWillEnd() { end() }

    // MARK: Accepting

    package func didBecomeReady(_ readiness: Readiness) {
        for _ in 0..<TCPListener.acceptsPerIteration {
            guard connectionCount < connectionsMax else { return pauseAtLimit() }
            let accepted = linux_accept(descriptor)
            if accepted >= 0 {
                assignToLoop(accepted)
            } else if errno == EMFILE || errno == ENFILE {
                rejectWaitingPeer()
                return pauseAccepting()
            } else if errno == EAGAIN {
                return
            } else if errno == ENOBUFS || errno == ENOMEM {
                return pauseAccepting()
            }
            // Any other error belongs to one connection, which ended before it was accepted.
        }
    }

    private func assignToLoop(_ accepted: Int32) {
        openConnections.add(1, ordering: .relaxed)
        let loop = loops[nextLoop]
        nextLoop = (nextLoop + 1) % loops.count
        let isQueued = loop.execute { self.startConnection(accepted: accepted, on: loop) }
        if !isQueued {
            Glibc.close(accepted)
            releaseConnection()
        }
    }

    private func startConnection(accepted: Int32, on loop: EventLoop) {
        let connection = TCPConnection(accepted: accepted, on: loop, options: options) {
            self.releaseConnection()
        }
        if let delegate = accept(connection) {
            connection.start(with: delegate)
        } else {
            connection.close()
        }
    }

    private func releaseConnection() {
        openConnections.subtract(1, ordering: .sequentiallyConsistent)
        // The first caller that sees the full flag clears it and wakes the listener.
        guard isFull.exchange(false, ordering: .sequentiallyConsistent) else { return }
        loops[0].execute { self.setWatching(true) }
    }

    private func pauseAtLimit() {
        setWatching(false)
        isFull.store(true, ordering: .sequentiallyConsistent)
        // The last connection may have closed between the count and the flag.
        if connectionCount < connectionsMax, isFull.exchange(false, ordering: .sequentiallyConsistent) {
            setWatching(true)
        }
    }

    private func rejectWaitingPeer() {
        guard reserveDescriptor >= 0 else { return }
        Glibc.close(reserveDescriptor)
        let rejected = linux_accept(descriptor)
        if rejected >= 0 { Glibc.close(rejected) }
        reserveDescriptor = TCPListener.openReserveDescriptor()
    }

    private func pauseAccepting() {
        setWatching(false)
        pauseTimer?.schedule(at: loops[0].now.advanced(byMilliseconds: TCPListener.pauseMilliseconds))
    }

    /// Lets the loop watch the descriptor or not. If it cannot, the listener pauses and tries again.
    private func setWatching(_ isWanted: Bool) {
        guard descriptor >= 0, isWanted != isWatched else { return }
        isWatched = false
        guard isWanted else { return loops[0].deregister(descriptor) }
        do {
            try loops[0].register(descriptor, for: .readable, handler: self)
            isWatched = true
        } catch {
            pauseAccepting()
        }
    }
}
