internal import CLinux
internal import Glibc
internal import Synchronization

/// A listener that accepts TCP connections and distributes them over event loops.
///
/// Limits: at `connectionsMax` open connections it stops accepting until one closes. Further peers wait in
/// the kernel's backlog. Without free descriptors it accepts and closes the waiting peer with a reserved
/// descriptor, so that no peer hangs. Then it pauses for `pauseMilliseconds`, so that it does not spin.
///
/// `@unchecked Sendable`: Mutable state is used on the first loop only, and the count is atomic.
package final class TCPListener: EventHandler, @unchecked Sendable {
    /// Called on the connection's loop for each connection. Nil rejects the connection.
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
    private let isFull = Atomic<Bool>(false)
    private var descriptor: Int32
    private var reserveDescriptor: Int32
    private var isWatched = false
    private var nextLoop = 0
    private var timer: LoopTimer?

    package var port: Int { address.port }
    package var connections: Int { openConnections.load(ordering: .relaxed) }

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
        timer = LoopTimer(on: loops[0]) { [weak self] in self?.setWatching(true) }
        setWatching(true)
    }

    /// Stops accepting and frees the port before it returns. Connections stay open. It must not be called on
    /// a loop's thread.
    package func stop() {
        if loops[0].perform({ self.end() }) == nil { end() }
    }

    private func end() {
        guard descriptor >= 0 else { return }
        timer?.cancel()
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
            guard connections < connectionsMax else { return pauseAtLimit() }
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
            // Any other error concerns one connection that closed before it was accepted.
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
        if connections < connectionsMax, isFull.exchange(false, ordering: .sequentiallyConsistent) {
            setWatching(true)
        }
    }

    private func rejectWaitingPeer() {
        guard reserveDescriptor >= 0 else { return }
        Glibc.close(reserveDescriptor)
        let turnedAway = linux_accept(descriptor)
        if turnedAway >= 0 { Glibc.close(turnedAway) }
        reserveDescriptor = TCPListener.openReserveDescriptor()
    }

    private func pauseAccepting() {
        setWatching(false)
        timer?.schedule(at: loops[0].now.advanced(byMilliseconds: TCPListener.pauseMilliseconds))
    }

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
