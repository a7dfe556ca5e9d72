internal import Glibc
internal import Lifecycle
package import TLS

/// The TLS side of an `HTTPServer`: how connections are encrypted.
package struct HTTPServerTLS: Sendable {
    /// The interval at which the server looks for changed files of the certificate.
    static let refreshMilliseconds = 10_000
    /// The protocol that the server speaks, for ALPN.
    package static let protocols = ["http/1.1"]

    let credentials: ServerCredentials
    /// Receives a new certificate, or the problem of the new files. It is called on a thread of the server.
    let onRefresh: @Sendable (ServerCredentials.Refresh) -> Void

    package init(
        credentials: ServerCredentials,
        onRefresh: @escaping @Sendable (ServerCredentials.Refresh) -> Void = { _ in }
    ) {
        self.credentials = credentials
        self.onRefresh = onRefresh
    }
}

/// A listener for TLS connections. It gives the server a plaintext connection for each, with the client's address. The
/// server then treats it like any other connection, with the same limits. Bytes pass through a pair of sockets of this
/// process.
///
/// A connection exists for the server only after its handshake, which has a time limit. Connections in the handshake count
/// for the limits of connections, too.
final class TLSTerminator: Sendable {
    let listener: TCPListener
    private let loops: [EventLoop]
    private let refreshTimer: LoopOwned<CredentialsTimer>

    /// Binds and starts to accept.
    ///
    /// - Parameter deliver: Takes over a connected socket, with the client's address. Called on the threads of the
    ///   terminator.
    init(
        name: String, host: String, port: Int, limits: HTTPLimits, tls: HTTPServerTLS,
        deliver: @escaping @Sendable (Int32, SocketAddress) -> Void
    ) throws {
        let pairs = try LoopbackPairs()
        let peers = ConnectionsOfPeers(countMax: limits.connectionsPerPeerMax)
        var started: [EventLoop] = []
        do {
            for number in 0..<max(1, limits.threads) {
                let loop = try EventLoop(name: "\(name)-tls-\(number)")
                try loop.start()
                started.append(loop)
            }
            listener = try TCPListener(
                host: host, port: port, on: started, connectionsMax: limits.connectionsMax
            ) { tcp in
                guard let peer = tcp.peer, peers.add(peer.host) else { return nil }
                return TLSConnection.accept(tcp, context: tls.credentials.context) { connection in
                    TLSRelay(connection, peer: peer, pairs: pairs, deliver: deliver) {
                        peers.remove(peer.host)
                    }
                }
            }
        } catch {
            for loop in started { loop.stop() }
            throw error
        }
        loops = started
        refreshTimer = LoopOwned(on: started[0]) { CredentialsTimer(tls, on: $0.loop) }
    }

    /// Frees the port. Connections stay open.
    func stopListening() { listener.stop() }

    /// Whether no connection is open.
    var isIdle: Bool { listener.connectionCount == 0 }

    /// Closes all connections, and ends the threads.
    func end() {
        refreshTimer.perform { $0.cancel() }
        for loop in loops { loop.stop() }
    }
}

/// A timer that looks regularly whether the files of the certificate have changed. Confined to its loop.
private final class CredentialsTimer {
    private let tls: HTTPServerTLS
    private let loop: EventLoop
    private var timer: LoopTimer?

    init(_ tls: HTTPServerTLS, on loop: EventLoop) {
        self.tls = tls
        self.loop = loop
        timer = LoopTimer(on: loop) { [weak self] in self?.refresh() }
        schedule()
    }

    func cancel() { timer?.cancel() }

    private func schedule() {
        timer?.schedule(at: loop.now.advanced(byMilliseconds: HTTPServerTLS.refreshMilliseconds))
    }

    private func refresh() {
        let result = tls.credentials.refresh()
        if result != .unchanged { tls.onRefresh(result) }
        schedule()
    }
}

/// The number of open connections of each address.
private final class ConnectionsOfPeers: Sendable {
    private let countMax: Int
    private let counts = TracedLock<[String: Int]>([:])

    init(countMax: Int) { self.countMax = countMax }

    /// Counts a connection. Returns false at the limit.
    func add(_ peer: String) -> Bool {
        counts.withLock { counts in
            let count = counts[peer] ?? 0
            if count < countMax { counts[peer] = count + 1 }
            return count < countMax
        }
    }

    func remove(_ peer: String) {
        counts.withLock { counts in
            let count = (counts[peer] ?? 1) - 1
            counts[peer] = count > 0 ? count : nil
        }
    }
}
