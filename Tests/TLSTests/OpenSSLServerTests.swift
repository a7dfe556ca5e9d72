import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import TLS

/// Our client against OpenSSL's server: a good server, and bad servers that must be refused before any
/// application byte is sent.
@Suite struct OpenSSLServerTests {
    /// The client's data. A server that is refused must not see it.
    private static let secret = "token-that-must-not-leave"
    private static let dayMilliseconds: Int64 = 86_400_000

    @Test(arguments: ["-tls1_3", "-tls1_2"]) func `a good server is accepted`(version: String) async throws {
        let certificates = try Certificates()
        let (server, port) = try await certificates.opensslServer(["-alpn", "h2", version])
        let running = try RunningLoop()
        let client = Endpoint.connect(
            try certificates.client(), port: port, on: running.loop, sending: Self.secret)
        try await server.waitForOutput(containing: Self.secret)
        #expect(client.read(\.applicationProtocol) == "h2")
        _ = running.loop.perform { client.tls.finish() }
        try await eventually("the end") { client.read(\.closeReasons).count == 1 }
        #expect(client.read(\.closeReasons) == ["connection closed by this process"])
    }

    @Test func `a certificate for an IP address is accepted for that address`() async throws {
        let certificates = try Certificates()
        let identity = certificates.authority.issue(for: ["127.0.0.1"])
        let (server, port) = try await certificates.opensslServer(["-alpn", "h2"], identity: identity)
        let running = try RunningLoop()
        let client = Endpoint.connect(
            try certificates.client(), host: "127.0.0.1", port: port, on: running.loop, sending: Self.secret)
        try await server.waitForOutput(containing: Self.secret)
        #expect(client.read(\.closeReasons) == [])
    }

    /// Connects, waits for the refusal, and checks that the server never saw the client's data.
    private func refusal(
        from server: (process: ChildProcess, port: Int), by context: TLSContext, host: String = "localhost"
    ) async throws -> String {
        let running = try RunningLoop()
        let client = Endpoint.connect(
            context, host: host, port: server.port, on: running.loop, sending: Self.secret)
        try await eventually("the refusal") { !client.read(\.closeReasons).isEmpty }
        #expect(client.read(\.closeReasons).count == 1)
        #expect(client.read(\.takenByteCount) == 0, "fill must not be called")
        #expect(!server.process.output.contains(Self.secret))
        #expect(client.read(\.applicationProtocol) == nil)
        return client.read(\.closeReasons)[0].replacing("localhost:\(server.port)", with: "HOST")
            .replacing("127.0.0.1:\(server.port)", with: "HOST")
    }

    @Test func `a certificate for another host is refused`() async throws {
        let certificates = try Certificates()
        let identity = certificates.authority.issue(for: ["other.example", "192.0.2.7"])
        let server = try await certificates.opensslServer(["-alpn", "h2"], identity: identity)
        let context = try certificates.client()
        #expect(
            try await refusal(from: server, by: context)
                == "certificate of HOST is for other.example, 192.0.2.7: the host name is wrong, or another server answers"
        )
        #expect(
            try await refusal(from: server, by: context, host: "127.0.0.1")
                == "certificate of HOST is for other.example, 192.0.2.7: the host name is wrong, or another server answers"
        )
    }

    /// - Parameter day: the number of days since 1970.
    private static func wallTime(day: Int64) -> WallTime { WallTime(milliseconds: day * dayMilliseconds) }

    @Test func `an expired certificate is refused`() async throws {
        let certificates = try Certificates()
        // The year 2020.
        let identity = certificates.authority.issue(
            for: ["localhost"], validity: Self.wallTime(day: 18_262)...Self.wallTime(day: 18_627))
        let server = try await certificates.opensslServer(["-alpn", "h2"], identity: identity)
        #expect(
            try await refusal(from: server, by: try certificates.client())
                == "certificate of HOST expired on 2020-12-31: its operator must renew it, or this machine's clock is wrong"
        )
    }

    @Test func `a certificate that is not valid yet is refused`() async throws {
        let certificates = try Certificates()
        // A part of the year 2079.
        let identity = certificates.authority.issue(
            for: ["localhost"], validity: Self.wallTime(day: 40_000)...Self.wallTime(day: 40_100))
        let server = try await certificates.opensslServer(["-alpn", "h2"], identity: identity)
        #expect(
            try await refusal(from: server, by: try certificates.client())
                == "certificate of HOST is not valid before 2079-07-08: check this machine's clock")
    }

    @Test func `a certificate of an unknown CA is refused`() async throws {
        let certificates = try Certificates()
        let stranger = CertificateAuthority(name: "Stranger")
        let server = try await certificates.opensslServer(
            ["-alpn", "h2"], identity: stranger.issue(for: ["localhost"]))
        let sentence =
            "certificate of HOST is not signed by a known CA (its issuer is CN = Stranger): give that authority's certificate as a file, "
            + "or install ca-certificates"
        #expect(try await refusal(from: server, by: try certificates.client()) == sentence)
        #expect(
            try await refusal(from: server, by: try .client()) == sentence,
            "the system's CAs do not know it either")
    }

    @Test func `a server without ALPN or with another protocol is refused`() async throws {
        let certificates = try Certificates()
        let context = try certificates.client()
        let sentence = "HOST does not speak h2: ALPN agreed on no protocol; check host and port"
        let withoutALPN = try await certificates.opensslServer([])
        #expect(try await refusal(from: withoutALPN, by: context) == sentence)
        // A directory of certificates has the files of one server.
        let otherCertificates = try Certificates()
        let withHTTP1 = try await otherCertificates.opensslServer(["-alpn", "http/1.1"])
        #expect(try await refusal(from: withHTTP1, by: try otherCertificates.client()) == sentence)
    }

    @Test func `a server that speaks only TLS 1.1 is refused`() async throws {
        let certificates = try Certificates()
        let server = try await certificates.opensslServer([
            "-alpn", "h2", "-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0",
        ])
        #expect(
            try await refusal(from: server, by: try certificates.client())
                == "HOST speaks only TLS 1.1 or older: TLS 1.2 or newer is required")
    }

    @Test func `a server that speaks plain text is refused`() async throws {
        let running = try RunningLoop()
        let certificates = try Certificates()
        let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 10) {
            tcp in
            PlainText(tcp)
        }
        defer { listener.stop() }
        let client = Endpoint.connect(
            try certificates.client(), port: listener.port, on: running.loop, sending: Self.secret)
        try await eventually("the refusal") { !client.read(\.closeReasons).isEmpty }
        #expect(
            client.read(\.closeReasons) == [
                "localhost:\(listener.port) speaks plain text where TLS is expected; check the port"
            ])
        #expect(client.read(\.takenByteCount) == 0)
    }

    @Test func `a silent server and a server that hangs up are refused`() async throws {
        let running = try RunningLoop()
        let certificates = try Certificates()
        let silent = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 10) {
            Mute($0)
        }
        let closing = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 10) {
            _ in
            nil
        }
        defer {
            silent.stop()
            closing.stop()
        }
        let context = try certificates.client()
        let waiting = Endpoint.connect(
            context, port: silent.port, on: running.loop, milliseconds: 150, sending: Self.secret)
        let hungUp = Endpoint.connect(context, port: closing.port, on: running.loop, sending: Self.secret)
        try await eventually("both refusals") {
            !waiting.read(\.closeReasons).isEmpty && !hungUp.read(\.closeReasons).isEmpty
        }
        #expect(
            waiting.read(\.closeReasons)[0]
                == "TLS handshake with localhost:\(silent.port) was not finished within "
                + "150 ms; check that the port speaks TLS")
        #expect(waiting.read(\.takenByteCount) == 0 && hungUp.read(\.takenByteCount) == 0)
        // The kernel reports the end of the connection, or a reset.
        #expect(
            hungUp.read(\.closeReasons)[0].hasPrefix(
                "localhost:\(closing.port) ended the connection during the TLS handshake")
                || hungUp.read(\.closeReasons)[0].hasPrefix(
                    "TLS handshake with localhost:\(closing.port) failed: ")
        )
    }

    /// A server without TLS.
    private final class PlainText: TCPConnectionDelegate {
        private let tcp: TCPConnection
        init(_ tcp: TCPConnection) { self.tcp = tcp }
        func didReceive(_ bytes: UnsafeRawBufferPointer) {
            tcp.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        }
        func didBecomeWritable() {}
        func didClose(reason: TCPCloseReason) {}
    }

    /// A peer that never answers.
    private final class Mute: TCPConnectionDelegate {
        /// Keeps the connection open.
        private let tcp: TCPConnection
        init(_ tcp: TCPConnection) { self.tcp = tcp }
        func didReceive(_ bytes: UnsafeRawBufferPointer) {}
        func didBecomeWritable() {}
        func didClose(reason: TCPCloseReason) {}
    }
}
