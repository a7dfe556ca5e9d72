import Glibc
import Synchronization
import Testing

@testable import Lifecycle

/// TCP connections on an event loop: connecting, sending, receiving, and each way to close. Most tests connect a `Peer`
/// to a server whose connections are peers too. A connection is used on its loop, so a test calls it in `perform`.
@Suite struct TCPTests {
    /// Starts a server. `make` makes the peer of each connection, and `peers` keeps it.
    private func serve(
        on running: RunningLoop, host: String = "127.0.0.1", connectionsMax: Int = 1_000,
        options: TCPOptions = TCPOptions(), peers: Peers, make: @escaping @Sendable (TCPConnection) -> Peer
    ) throws -> TCPListener {
        try TCPListener(
            host: host, port: 0, on: [running.loop], connectionsMax: connectionsMax, options: options
        ) { connection in
            let peer = make(connection)
            peers.add(peer)
            return peer
        }
    }

    @Test func `an echo comes back in one piece, independent of the number of sends`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) { Peer($0, onReceived: { $0.send($1) }) }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, on: running.loop)
        _ = running.loop.perform { for byte in UInt8(0)..<100 { client.tcp.send([byte]) } }
        #expect(eventually { client.read(\.bytes) == Array(0..<100) })
        #expect(client.read(\.isConnected))
        #expect(peers.all[0].read(\.pieceCount) == 1, "the sends of one iteration leave together")
        _ = running.loop.perform { client.tcp.close() }
        #expect(
            eventually {
                client.read(\.closeReasons).count == 1 && peers.all[0].read(\.closeReasons).count == 1
            })
        #expect(client.read(\.closeReasons) == ["connection closed by this process"])
        #expect(peers.all[0].read(\.closeReasons) == ["connection closed by the peer"])
        #expect(eventually { listener.connectionCount == 0 })
    }

    @Test func `a slow reader holds the sender back and gets every byte`() throws {
        let running = try RunningLoop()
        let clients = try RunningLoop()
        let total = 24 * 1024 * 1024
        let highWaterBytes = TCPOptions().highWaterBytes
        let chunk = [UInt8](repeating: 7, count: 300_000)
        let sentCount = Mutex(0)
        let pendingMax = Mutex(0)
        // Sends until the connection says that its peer does not read.
        let pump: @Sendable (TCPConnection) -> Void = { connection in
            while sentCount.withLock({ $0 }) < total {
                let count = min(chunk.count, total - sentCount.withLock { $0 })
                sentCount.withLock { $0 += count }
                let takesMore = chunk.withUnsafeBytes { connection.send(.init(rebasing: $0[..<count])) }
                pendingMax.withLock { $0 = max($0, connection.pendingByteCount) }
                if !takesMore { return }
            }
        }
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) {
            Peer($0, onReceived: { connection, _ in pump(connection) }, onWritable: pump)
        }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, on: clients.loop, as: Peer(keepsBytes: false))
        _ = clients.loop.perform {
            client.tcp.send([1])
            client.tcp.pauseReading()
        }
        #expect(eventually { pendingMax.withLock { $0 } >= highWaterBytes })
        #expect(sentCount.withLock { $0 } < total, "the sender stops while the peer does not read")
        _ = clients.loop.perform { client.tcp.resumeReading() }
        #expect(eventually(within: 20_000) { client.read(\.receivedByteCount) == total })
        #expect(peers.all[0].read(\.writableCount) > 0)
        #expect(pendingMax.withLock { $0 } < highWaterBytes + 2 * chunk.count)
    }

    @Test func `a peer that never reads ends the connection at the limit`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        var options = TCPOptions()
        options.outboundBytesMax = 1_000_000
        let listener = try serve(on: running, options: options, peers: peers) {
            Peer(
                $0,
                onReceived: { connection, _ in
                    let chunk = [UInt8](repeating: 1, count: 500_000)
                    for _ in 0..<100 { connection.send(chunk) }
                })
        }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, on: running.loop)
        _ = running.loop.perform {
            client.tcp.send([1])
            client.tcp.pauseReading()
        }
        #expect(eventually { !(peers.all.first?.read(\.closeReasons).isEmpty ?? true) })
        let sentence = try #require(peers.all[0].read(\.closeReasons).first)
        #expect(sentence.hasSuffix("bytes wait to be sent and the peer does not read"))
    }

    @Test func `bytes written into the buffer arrive in order with the others`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) { Peer($0) }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, on: running.loop)
        _ = running.loop.perform {
            client.tcp.send([1, 2])
            client.tcp.send(upTo: 100_000) { space in
                for index in 0..<70_000 { space[index] = 3 }
                return 70_000
            }
            client.tcp.send([4])
        }
        #expect(eventually { peers.all.first?.read(\.receivedByteCount) == 70_003 })
        #expect(peers.all[0].read(\.bytes) == [1, 2] + [UInt8](repeating: 3, count: 70_000) + [4])
    }

    @Test func `a half-close lets the answer through`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        var options = TCPOptions()
        options.keepsOpenAfterInputEnds = true
        let listener = try serve(on: running, options: options, peers: peers) {
            Peer(
                $0,
                onInputEnded: { connection in
                    connection.send([UInt8](repeating: 9, count: 3_000_000))
                    connection.finish()
                })
        }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, on: running.loop, as: Peer(keepsBytes: false))
        _ = running.loop.perform {
            client.tcp.send([1])
            client.tcp.shutdownOutput()
        }
        #expect(eventually { client.read(\.receivedByteCount) == 3_000_000 })
        #expect(eventually { client.read(\.closeReasons) == ["connection closed by the peer"] })
        #expect(eventually { peers.all[0].read(\.closeReasons) == ["connection closed by this process"] })
        #expect(peers.all[0].read(\.inputEndCount) == 1)
    }

    @Test func `finish sends everything before it closes`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) {
            Peer(
                $0,
                onReceived: { connection, _ in
                    connection.send([UInt8](repeating: 5, count: 5_000_000))
                    connection.finish()
                })
        }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, on: running.loop, as: Peer(keepsBytes: false))
        // More than the server reads. An immediate close would reset the connection and lose the answer.
        _ = running.loop.perform { client.tcp.send([UInt8](repeating: 1, count: 200_000)) }
        #expect(eventually { client.read(\.closeReasons) == ["connection closed by the peer"] })
        #expect(client.read(\.receivedByteCount) == 5_000_000)
    }

    @Test func `the error for a refused connection is one sentence`() throws {
        let running = try RunningLoop()
        let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 1) {
            _ in
            nil
        }
        let port = listener.port
        listener.stop()
        let client = Peer.connect(port: port, on: running.loop)
        #expect(eventually { !client.read(\.closeReasons).isEmpty })
        #expect(
            client.read(\.closeReasons) == [
                "cannot connect to 127.0.0.1:\(port): 127.0.0.1 says connection refused"
            ])
    }

    @Test func `the error for a name without an address is one sentence`() throws {
        let running = try RunningLoop()
        let client = Peer.connect(port: 1, host: "nothing.invalid", on: running.loop, milliseconds: 20_000)
        #expect(eventually(within: 20_000) { !client.read(\.closeReasons).isEmpty })
        #expect(client.read(\.closeReasons)[0].hasPrefix("cannot find an address of nothing.invalid: "))
    }

    @Test func `a name is resolved and each of its addresses is tried`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) { Peer($0, onReceived: { $0.send($1) }) }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, host: "localhost", on: running.loop)
        _ = running.loop.perform { client.tcp.send([42]) }
        #expect(eventually { client.read(\.bytes) == [42] })
    }

    @Test func `addresses that do not answer delay the connection only shortly`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) { Peer($0, onReceived: { $0.send($1) }) }
        defer { listener.stop() }
        let silent = try SilentListener(port: listener.port)
        defer { silent.close() }
        let addresses =
            Array(repeating: try silent.address, count: 8)
            + (try SocketAddress.resolve(host: "127.0.0.1", port: listener.port, numericOnly: true).get())
        let startedAt = Instant.now()
        let result = race(to: addresses, milliseconds: 20_000, on: running.loop)
        #expect(eventually(within: 20_000) { result.withLock { $0 } != nil })
        let delay = Instant.now().milliseconds(since: startedAt)
        let descriptor = try #require(result.withLock { $0 }).get()
        Glibc.close(descriptor)
        #expect(delay >= 8 * TCPConnector.attemptDelayMilliseconds - 50 && delay < 6_000)
        #expect(eventually { peers.all.count == 1 }, "the winner is connected, and the others are closed")
    }

    @Test func `at the deadline the error names an address that does not answer`() throws {
        let running = try RunningLoop()
        let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 1) {
            _ in
            nil
        }
        defer { listener.stop() }
        let silent = try SilentListener(port: listener.port)
        defer { silent.close() }
        let result = race(
            to: Array(repeating: try silent.address, count: 3), milliseconds: 400, on: running.loop)
        #expect(eventually { result.withLock { $0 } != nil })
        let failure = #expect(throws: TCPConnector.ConnectFailure.self) {
            _ = try result.withLock { $0 }?.get()
        }
        #expect(
            failure?.description
                == "cannot connect to apns.example:\(listener.port): 127.0.0.2 does not answer (last of 3 addresses)"
        )
    }

    @Test func `the families of a host's addresses alternate`() throws {
        func address(_ host: String) throws -> SocketAddress {
            try #require(try SocketAddress.resolve(host: host, port: 1, numericOnly: true).get().first)
        }
        let six = try (1...3).map { try address("2001:db8::\($0)") }
        let four = try (1...2).map { try address("192.0.2.\($0)") }
        #expect(
            TCPConnector.interleaved(six + four).map(\.host)
                == ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"])
        #expect(TCPConnector.interleaved([]).isEmpty)
    }

    /// Connects to the addresses as `TCPConnector` does: it tries the next one if an address does not answer soon.
    private func race(
        to addresses: [SocketAddress], milliseconds: Int, on loop: EventLoop
    ) -> ConnectResult {
        let result = ConnectResult()
        _ = loop.perform {
            let port = addresses[0].port
            TCPConnector(
                host: "apns.example", port: port, on: loop,
                deadline: Instant.now().advanced(byMilliseconds: milliseconds),
                resolve: { _, _, answer in answer(.success(addresses)) },
                report: { outcome in result.withLock { $0 = outcome } }
            ).start()
        }
        return result
    }

    @Test func `no connection is made if one address of the host is forbidden`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [loop], connectionsMax: 1) { _ in nil }
        defer { listener.stop() }
        let client = Peer()
        let port = listener.port
        _ = loop.perform {
            var options = TCPOptions()
            options.addressProblem = { $0.host == "127.0.0.1" ? "it is forbidden" : nil }
            client.attach(
                TCPConnection.connect(
                    host: "127.0.0.1", port: port, on: loop, deadline: .distantFuture, options: options,
                    delegate: client))
        }
        #expect(eventually { !client.read(\.closeReasons).isEmpty })
        #expect(
            client.read(\.closeReasons) == ["must not connect to 127.0.0.1:\(port): it is forbidden"])
        #expect(listener.connectionCount == 0)
    }

    @Test func `a cancelled connect reports its end once`() throws {
        let running = try RunningLoop()
        let client = Peer()
        let loop = running.loop
        _ = loop.perform {
            let connection = TCPConnection.connect(
                host: "nothing.invalid", port: 1, on: loop, deadline: .distantFuture, delegate: client)
            client.attach(connection)
            connection.send([1])
            connection.close()
            connection.close()
        }
        #expect(eventually { !client.read(\.closeReasons).isEmpty })
        _ = loop.perform {}
        #expect(client.read(\.closeReasons) == ["connection closed by this process"])
    }

    @Test func `the error for a taken port is one sentence`() throws {
        let running = try RunningLoop()
        let first = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 1) { _ in
            nil
        }
        defer { first.stop() }
        let port = first.port
        let error = #expect(throws: SystemError.self) {
            try TCPListener(host: "127.0.0.1", port: port, on: [running.loop], connectionsMax: 1) { _ in nil }
        }
        #expect(
            error?.description == "cannot listen on 127.0.0.1:\(port): address already in use; "
                + "stop the process that holds it or choose another port")
    }

    @Test func `beyond the limit peers wait until one leaves`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, connectionsMax: 2, peers: peers) {
            Peer($0, onReceived: { $0.send($1) })
        }
        defer { listener.stop() }
        let clients = (0..<5).map { _ in Peer.connect(port: listener.port, on: running.loop) }
        _ = running.loop.perform { for client in clients { client.tcp.send([1]) } }
        #expect(eventually { clients.filter { $0.read(\.receivedByteCount) == 1 }.count == 2 })
        #expect(listener.connectionCount == 2)
        for number in 1...3 {
            let served = clients.filter {
                $0.read(\.receivedByteCount) == 1 && $0.read(\.closeReasons).isEmpty
            }
            _ = running.loop.perform { served[0].tcp.close() }
            #expect(eventually { clients.filter { $0.read(\.receivedByteCount) == 1 }.count == 2 + number })
        }
    }

    @Test func `connections are distributed over the loops, and each stays on its loop`() throws {
        let first = try RunningLoop()
        let second = try RunningLoop()
        let firstLoop = first.loop
        let usedLoops = Mutex<[String]>([])
        let listener = try TCPListener(
            host: "localhost", port: 0, on: [first.loop, second.loop], connectionsMax: 100
        ) { connection in
            connection.loop.preconditionOnLoop()
            usedLoops.withLock { $0.append(connection.loop === firstLoop ? "first" : "second") }
            return Peer(connection)
        }
        defer { listener.stop() }
        let clients = (0..<10).map { _ in
            Peer.connect(port: listener.port, host: listener.address.host, on: first.loop)
        }
        #expect(eventually { usedLoops.withLock { $0.count } == 10 })
        #expect(usedLoops.withLock { $0.filter { $0 == "first" }.count } == 5)
        #expect(clients.allSatisfy { $0.read(\.closeReasons).isEmpty })
        _ = first.loop.perform { for client in clients { client.tcp.close() } }
        #expect(eventually { listener.connectionCount == 0 })
    }

    @Test func `a loop that ends closes its connections and reports it`() throws {
        let near = try EventLoop(name: "near")
        try near.start()
        let far = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: far, peers: peers) { Peer($0) }
        defer { listener.stop() }
        let client = Peer.connect(port: listener.port, on: near)
        #expect(eventually { peers.all.count == 1 })
        near.stop()
        #expect(client.read(\.closeReasons) == ["connection closed by this process"])
        #expect(eventually { peers.all[0].read(\.closeReasons) == ["connection closed by the peer"] })
    }

    @Test func `a loop that ends during a name lookup reports it once`() throws {
        let loop = try EventLoop(name: "short")
        try loop.start()
        let client = Peer.connect(port: 1, host: "nothing.invalid", on: loop, milliseconds: 20_000)
        loop.stop()
        let reasons = client.read(\.closeReasons)
        #expect(reasons.count == 1)
        #expect(
            reasons.first == "event loop short has ended"
                || reasons.first?.hasPrefix("cannot find an address of nothing.invalid") == true)
    }

    @Test(arguments: [false, true])
    func `bytes that came before a reset are received`(isSending: Bool) throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) { Peer($0) }
        defer { listener.stop() }
        let client = try connectedSocket(to: listener.port)
        #expect(eventually { peers.all.count == 1 })
        // The loop sees the bytes and the reset in one iteration, or learns of the reset when it sends.
        _ = running.loop.perform {
            let answer = Array("answer".utf8)
            #expect(write(client, answer, answer.count) == answer.count)
            reset(client)
            if isSending { peers.all[0].tcp.send([UInt8](repeating: 1, count: 200_000)) }
        }
        #expect(eventually { !peers.all[0].read(\.closeReasons).isEmpty })
        #expect(peers.all[0].read(\.bytes) == Array("answer".utf8))
        #expect(peers.all[0].read(\.closeReasons).count == 1)
    }

    /// Returns a plain socket that is connected to the server.
    private func connectedSocket(to port: Int) throws -> Int32 {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let address = try SocketAddress.resolve(host: "127.0.0.1", port: port, numericOnly: true).get()[0]
        let code = address.withPointer { connect(client, $0, $1) }
        try #require(code == 0)
        return client
    }

    /// Closes a socket so that its peer gets a reset instead of the end of the stream.
    private func reset(_ client: Int32) {
        var abort = linger(l_onoff: 1, l_linger: 0)
        setsockopt(client, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
        close(client)
    }

    @Test func `a reset is reported as a reset`() throws {
        let running = try RunningLoop()
        let peers = Peers()
        let listener = try serve(on: running, peers: peers) { Peer($0) }
        defer { listener.stop() }
        let client = try connectedSocket(to: listener.port)
        #expect(eventually { peers.all.count == 1 })
        reset(client)
        #expect(eventually { !peers.all[0].read(\.closeReasons).isEmpty })
        #expect(peers.all[0].read(\.closeReasons)[0].hasSuffix("connection reset by peer"))
    }

    /// The server's ends of the connections.
    private final class Peers: Sendable {
        private let list = Mutex<[Peer]>([])
        func add(_ peer: Peer) { list.withLock { $0.append(peer) } }
        var all: [Peer] { list.withLock { $0 } }
    }
}
