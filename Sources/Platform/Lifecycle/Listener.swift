internal import CLinux
internal import Glibc
internal import Synchronization

/// A listener that accepts TCP connections and distributes them over event loops.
///
/// Limits: at `connectionsMax` open connections it stops accepting until one closes. Further peers wait in
/// the kernel's backlog. Without free descriptors it accepts and closes the waiting peer with a reserved
/// descriptor, so that no peer hangs. Then it pauses for `restMilliseconds`, so that it does not spin.
///
/// `@unchecked Sendable`: Mutable state is used on the first loop only, and the count is atomic.
package final class Listener: EventHandler, @unchecked Sendable {
    /// Called on the connection's loop for each connection. Nil rejects the connection.
    package typealias Accept = @Sendable (TCPConnection) -> (any TCPConnectionDelegate)?

    private static let backlog: Int32 = 1024
    private static let acceptsPerTurn = 64
    private static let restMilliseconds = 100

    /// The bound address. The system chooses the port if the requested port is 0.
    package let address: SocketAddress
    package let connectionsMax: Int
    private let loops: [EventLoop]
    private let options: TCPOptions
    private let accept: Accept
    private let count = Atomic<Int>(0)
    private let isFull = Atomic<Bool>(false)
    private var descriptor: Int32
    private var reserve: Int32
    private var isWatched = false
    private var nextLoop = 0
    private var timer: LoopTimer?

    package var port: Int { address.port }
    package var connections: Int { count.load(ordering: .relaxed) }

    /// Binds and starts to accept. It must not be called on a loop's thread. An empty host or `*` means all
    /// addresses.
    package init(
        host: String, port: Int, on loops: [EventLoop], connectionsMax: Int,
        options: TCPOptions = TCPOptions(),
        accept: @escaping Accept
    ) throws {
        precondition(!loops.isEmpty, "a listener needs an event loop")
        self.loops = loops
        self.connectionsMax = connectionsMax
        self.options = options
        self.accept = accept
        (descriptor, address) = try Listener.bind(host: host, port: port)
        reserve = Listener.openReserve()
        loops[0].execute { self.begin() }
    }

    /// Returns a listening socket and its bound address, for servers that accept connections themselves.
    package static func bind(
        host: String, port: Int
    ) throws -> (descriptor: Int32, address: SocketAddress) {
        let address = try SocketAddress.resolve(host: host, port: port, listening: true).get().first
        let action = "listen on \(host):\(port)"
        guard let address else { throw SystemError(action, code: EADDRNOTAVAIL) }
        let descriptor = linux_tcp_socket(address.family)
        guard descriptor >= 0 else { throw SystemError(action, code: errno) }
        _ = linux_socket_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        guard unsafe address.withPointer({ unsafe Glibc.bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, backlog) == 0
        else {
            let code = errno
            Glibc.close(descriptor)
            let remedy = code == EACCES ? "choose a port above 1023 or give the process the right to it" : nil
            throw SystemError(action, code: code, remedy: remedy)
        }
        guard let bound = SocketAddress.local(of: descriptor) else {
            let code = errno
            Glibc.close(descriptor)
            throw SystemError("read the port of a listening socket", code: code)
        }
        return (descriptor, bound)
    }

    private static func openReserve() -> Int32 { unsafe linux_open("/dev/null", O_RDONLY, 0) }

    private func begin() {
        guard descriptor >= 0 else { return }
        timer = LoopTimer(on: loops[0]) { [weak self] in self?.watch(true) }
        watch(true)
    }

    /// Stops accepting and frees the port before it returns. Connections stay open. It must not be called on
    /// a loop's thread.
    package func stop() {
        if loops[0].perform({ self.end() }) == nil { end() }
    }

    private func end() {
        guard descriptor >= 0 else { return }
        timer?.cancel()
        watch(false)
        Glibc.close(descriptor)
        if reserve >= 0 { Glibc.close(reserve) }
        descriptor = -1
        reserve = -1
    }

    package func loopEnds() { end() }

    // MARK: Accepting

    package func ready(_ readiness: Readiness) {
        for _ in 0..<Listener.acceptsPerTurn {
            guard connections < connectionsMax else { return becomeFull() }
            let accepted = linux_accept(descriptor)
            if accepted >= 0 {
                hand(accepted)
            } else if errno == EMFILE || errno == ENFILE {
                turnAway()
                return rest()
            } else if errno == EAGAIN {
                return
            } else if errno == ENOBUFS || errno == ENOMEM {
                return rest()
            }
            // Any other error concerns one connection that closed before it was accepted.
        }
    }

    private func hand(_ accepted: Int32) {
        count.add(1, ordering: .relaxed)
        let loop = loops[nextLoop]
        nextLoop = (nextLoop + 1) % loops.count
        let isQueued = loop.execute { self.begin(accepted, on: loop) }
        if !isQueued {
            Glibc.close(accepted)
            released()
        }
    }

    private func begin(_ accepted: Int32, on loop: EventLoop) {
        let connection = TCPConnection(accepted: accepted, on: loop, options: options) { self.released() }
        if let delegate = accept(connection) {
            connection.begin(with: delegate)
        } else {
            connection.close()
        }
    }

    private func released() {
        count.subtract(1, ordering: .sequentiallyConsistent)
        // The first caller that sees the full flag clears it and wakes the listener.
        guard isFull.exchange(false, ordering: .sequentiallyConsistent) else { return }
        loops[0].execute { self.watch(true) }
    }

    private func becomeFull() {
        watch(false)
        isFull.store(true, ordering: .sequentiallyConsistent)
        // The last connection may have closed between the count and the flag.
        if connections < connectionsMax, isFull.exchange(false, ordering: .sequentiallyConsistent) {
            watch(true)
        }
    }

    private func turnAway() {
        guard reserve >= 0 else { return }
        Glibc.close(reserve)
        let turnedAway = linux_accept(descriptor)
        if turnedAway >= 0 { Glibc.close(turnedAway) }
        reserve = Listener.openReserve()
    }

    private func rest() {
        watch(false)
        timer?.schedule(at: loops[0].now.advanced(byMilliseconds: Listener.restMilliseconds))
    }

    private func watch(_ isWanted: Bool) {
        guard descriptor >= 0, isWanted != isWatched else { return }
        isWatched = false
        guard isWanted else { return loops[0].deregister(descriptor) }
        do {
            try loops[0].register(descriptor, for: .readable, self)
            isWatched = true
        } catch {
            rest()
        }
    }
}
