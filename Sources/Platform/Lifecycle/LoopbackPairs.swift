internal import CLinux
internal import Glibc

/// A maker of pairs of TCP sockets that are connected to each other on this machine. Unlike a pair of Unix
/// sockets, both ends have the statistics of TCP. The deadlines of the HTTP server read from them how many bytes a
/// client has sent.
package final class LoopbackPairs: Sendable {
    private static let backlog: Int32 = 16
    /// The limit of one connection on the loopback interface, which needs no network.
    private static let connectMilliseconds: Int32 = 1000

    /// The listening socket, for one pair at a time.
    private let listener: TracedLock<Int32>
    private let address: SocketAddress

    package init() throws {
        let (descriptor, address) = try TCPListener.bind(host: "127.0.0.1", port: 0)
        self.address = address
        listener = TracedLock(descriptor)
    }

    deinit { listener.withLock { _ = Glibc.close($0) } }

    /// Returns two connected sockets, which do not block.
    package func make() throws(SystemError) -> (first: Int32, second: Int32) {
        let address = address
        let result = listener.withLock { listener -> Result<(first: Int32, second: Int32), SystemError> in
            let first = linux_tcp_socket(AF_INET)
            guard first >= 0 else { return .failure(Self.error()) }
            guard Self.connect(first, to: address), let second = Self.accept(from: first, at: listener)
            else {
                let error = Self.error()
                Glibc.close(first)
                return .failure(error)
            }
            return .success((first, second))
        }
        return try result.get()
    }

    private static func error() -> SystemError {
        SystemError(action: "connect two sockets of this process", code: errno)
    }

    private static func connect(_ descriptor: Int32, to address: SocketAddress) -> Bool {
        if unsafe address.withPointer({ unsafe Glibc.connect(descriptor, $0, $1) }) == 0 { return true }
        guard errno == EINPROGRESS, waitFor(Int16(POLLOUT), on: descriptor) else { return false }
        return linux_socket_error(descriptor) == 0
    }

    private static func waitFor(_ events: Int16, on descriptor: Int32) -> Bool {
        var state = pollfd(fd: descriptor, events: events, revents: 0)
        return unsafe poll(&state, 1, connectMilliseconds) == 1
    }

    /// Accepts the connection of the first socket. Another program may have connected to the port, and is refused.
    private static func accept(from first: Int32, at listener: Int32) -> Int32? {
        let expected = SocketAddress.local(of: first)
        while true {
            let accepted = linux_accept(listener)
            guard accepted >= 0 else {
                // The kernel may not have completed the connection at this end yet.
                guard errno == EAGAIN, waitFor(Int16(POLLIN), on: listener) else { return nil }
                continue
            }
            if let expected, SocketAddress.peer(of: accepted)?.description == expected.description {
                return accepted
            }
            Glibc.close(accepted)
        }
    }
}
