import Cryptography
import Lifecycle
import ProcessTesting
import Synchronization
import Telemetry

@testable import TLS

/// A running loop that stops when the test releases it.
final class RunningLoop: Sendable {
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(name: "tls-test")
        try loop.start()
    }

    deinit { loop.stop() }
}

/// One end of a TLS connection, as its delegate. It records the events of the connection, and gives it the test's data
/// when it asks for bytes (`fill`). A connection is used on its loop, so a test calls it in `perform`.
final class Endpoint: TLSConnectionDelegate, Sendable {
    /// The events of the connection until now.
    struct State {
        /// The result of ALPN; nil before the handshake is done.
        var applicationProtocol: String?
        /// The received bytes, if the end keeps them.
        var received: [UInt8] = []
        var receivedByteCount = 0
        /// The test's data that the connection has not taken.
        var outgoing: ArraySlice<UInt8> = []
        /// The number of bytes that the connection has taken.
        var takenByteCount = 0
        /// The reasons of the closes. There must be one.
        var closeReasons: [String] = []
    }

    private let state = Mutex(State())
    private let connection = TracedLock<TLSConnection?>(nil)
    private let keepsBytes: Bool
    private let echoes: Bool
    /// Called when the connection is established, and with each piece that is received.
    private let onEvent: (@Sendable () -> Void)?
    /// The limit on the bytes of one `fill`, to test small pieces.
    private let pieceBytesMax: Int

    init(
        echoes: Bool = false, keepsBytes: Bool = true, pieceBytesMax: Int = .max,
        onEvent: (@Sendable () -> Void)? = nil
    ) {
        self.onEvent = onEvent
        self.echoes = echoes
        self.keepsBytes = keepsBytes
        self.pieceBytesMax = pieceBytesMax
    }

    var tls: TLSConnection { connection.withLock { $0! } }
    func attach(_ tls: TLSConnection) { connection.withLock { $0 = tls } }
    func read<T>(_ path: (State) -> T) -> T { state.withLock { path($0) } }
    var text: String { String(decoding: read(\.received), as: UTF8.self) }

    /// Sends bytes. Call on the loop.
    func send(_ bytes: [UInt8]) {
        state.withLock { $0.outgoing += bytes }
        tls.requestFill()
    }

    /// Sends bytes during this call, and not at the end of the loop's iteration. Call on the loop.
    func sendAhead(_ bytes: [UInt8]) {
        state.withLock { $0.outgoing += bytes }
        connection.withLock { $0 }?.fillNow()
    }

    func didEstablish(applicationProtocol: String) {
        state.withLock { $0.applicationProtocol = applicationProtocol }
        onEvent?()
    }
    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        state.withLock {
            if keepsBytes { $0.received += plaintext }
            $0.receivedByteCount += plaintext.count
            if echoes { $0.outgoing += plaintext }
        }
        onEvent?()
    }
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock {
            let count = min(buffer.count, $0.outgoing.count, pieceBytesMax)
            buffer.copyBytes(from: $0.outgoing.prefix(count))
            $0.outgoing = $0.outgoing.dropFirst(count)
            $0.takenByteCount += count
            return count
        }
    }
    func didClose(reason: TLSCloseReason) {
        state.withLock { $0.closeReasons.append(reason.description) }
        connection.withLock { $0 = nil }
    }

    /// Starts to connect the client's end, which sends the text after the handshake.
    static func connect(
        _ context: TLSContext, host: String = "localhost", port: Int, on loop: EventLoop,
        milliseconds: Int = 10_000,
        as endpoint: Endpoint = Endpoint(), sending text: String = ""
    ) -> Endpoint {
        _ = loop.perform {
            let deadline = loop.now.advanced(byMilliseconds: milliseconds)
            endpoint.attach(
                TLSConnection.connect(
                    context: context, host: host, port: port, on: loop, deadline: deadline, delegate: endpoint
                ))
            if !text.isEmpty { endpoint.send(Array(text.utf8)) }
        }
        return endpoint
    }
}

/// A TLS server on a free port. `make` makes the end of each connection.
final class Server: Sendable {
    let listener: TCPListener
    private let accepted: AcceptedEnds

    init(_ context: TLSContext, on loop: EventLoop, make: @escaping @Sendable () -> Endpoint = { Endpoint() })
        throws
    {
        let accepted = AcceptedEnds()
        listener = try TCPListener(host: "127.0.0.1", port: 0, on: [loop], connectionsMax: 100) { tcp in
            let end = make()
            accepted.list.withLock { $0.append(end) }
            let connection = TLSConnection.accept(tcp, context: context) { connection in
                end.attach(connection)
                return end
            }
            return connection
        }
        self.accepted = accepted
    }

    private final class AcceptedEnds: Sendable {
        let list = Mutex<[Endpoint]>([])
    }

    var port: Int { listener.port }
    var first: Endpoint? { accepted.list.withLock { $0.first } }
    var ends: [Endpoint] { accepted.list.withLock { $0 } }

    deinit { listener.stop() }
}

/// An authority and the certificates that it issues, on disk for one test.
struct Certificates {
    let directory: TemporaryDirectory
    let authority: CertificateAuthority
    let caFile: String

    init() throws {
        directory = try TemporaryDirectory()
        authority = CertificateAuthority(name: "Test CA")
        caFile = try directory.writeFile(named: "ca.pem", content: authority.certificatePEM)
    }

    var trust: TLSTrust { .authorities(.file(caFile)) }

    func client(protocols: [String] = ["h2"]) throws -> TLSContext {
        try .client(trust: trust, protocols: protocols)
    }

    func server(for names: [String] = ["localhost", "127.0.0.1"], protocols: [String] = ["h2"]) throws
        -> TLSContext
    {
        let identity = authority.issue(for: names)
        return try .server(
            chain: .text(identity.chainPEM), key: .text(identity.keyPEM), protocols: protocols)
    }

    /// Starts `openssl s_server` with these options and waits until it accepts. Its output is the decrypted
    /// data.
    func opensslServer(
        _ options: [String], identity: CertificateAuthority.IssuedCertificate? = nil
    ) async throws -> (process: ChildProcess, port: Int) {
        let identity = identity ?? authority.issue(for: ["localhost", "127.0.0.1"])
        let chain = try directory.writeFile(named: "server.pem", content: identity.chainPEM)
        let key = try directory.writeFile(named: "server.key", content: identity.keyPEM)
        // A named pipe that is opened for reading and writing: a standard input that stays silent and never
        // ends.
        let script = "mkfifo \"$0\" && exec \"$@\" <>\"$0\""
        let process = try ChildProcess(
            "sh",
            arguments: [
                "-c", script, directory.filePath(named: "silence"), "openssl", "s_server", "-accept",
                "127.0.0.1:0", "-cert", chain, "-cert_chain", chain, "-key", key,
            ] + options)
        try await process.waitForOutput(containing: "ACCEPT")
        let line = process.output.split(separator: "\n").first { $0.hasPrefix("ACCEPT") } ?? ""
        let port = Int(line.split(separator: ":").last ?? "") ?? 0
        return (process, port)
    }
}
