import Cryptography
import Foundation
import HTTPServer
import Lifecycle
import ProcessTesting
import TLS
import Testing

/// The server with TLS, with curl and OpenSSL as independent clients.
struct HTTPServerTLSTests {
    private let authority = CertificateAuthority(name: "test")
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try write(authority.certificatePEM, to: "ca.pem")
        try renew()
    }

    private func path(_ name: String) -> String { directory.filePath(named: name) }

    private func write(_ text: String, to name: String) throws {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
    }

    /// Writes a new certificate and its key.
    private func renew() throws {
        let certificate = authority.issue(for: ["localhost", "127.0.0.1"])
        try write(certificate.chainPEM, to: "chain.pem")
        try writeKey(certificate.keyPEM)
    }

    /// Writes a key that only its owner can read.
    private func writeKey(_ text: String) throws {
        try write(text, to: "key.pem")
        try setKeyMode(0o600)
    }

    private func setKeyMode(_ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path("key.pem"))
    }

    private func credentials() throws -> ServerCredentials {
        try ServerCredentials(
            certificateFile: path("chain.pem"), keyFile: path("key.pem"), protocols: HTTPServerTLS.protocols)
    }

    private func server(
        _ credentials: ServerCredentials, limits: HTTPLimits = HTTPLimits(),
        moreRoutes: (inout HTTPRoutes) -> Void = { _ in }
    ) throws -> TestServer {
        try TestServer(
            limits: limits, tls: HTTPServerTLS(credentials: credentials), moreRoutes: moreRoutes)
    }

    /// Returns the output of curl, or `curl STATUS` if it fails. Its status is 60 if it refuses the certificate.
    private func curl(_ arguments: String..., input: Data? = nil) async throws -> String {
        let process = try ChildProcess(
            "curl", arguments: ["-sS", "--max-time", "20", "--cacert", path("ca.pem")] + arguments,
            input: input)
        let status = try await process.exitStatus()
        return status == 0 ? process.output : "curl \(status)"
    }

    @Test(arguments: [1, 3])
    func `curl gets and posts over TLS on one connection`(threads: Int) async throws {
        var limits = HTTPLimits()
        limits.threads = threads
        let server = try server(try credentials(), limits: limits) { routes in
            routes.on(.get, path: "/peer") { .text($0.peer) }
        }
        let base = "https://localhost:\(server.port)"
        #expect(try await curl("-w", " %{http_version}", "\(base)/hello") == "hello 1.1")
        #expect(try await curl("\(base)/peer") == "127.0.0.1")
        // Behind each answer, curl writes the number of connections that it opened for it.
        #expect(try await curl("-w", "%{num_connects}", "\(base)/hello", "\(base)/hello") == "hello1hello0")
        let body = Data(repeating: UInt8(ascii: "x"), count: 900_000)
        let echoed = try await curl(
            "-H", "Transfer-Encoding: chunked", "--data-binary", "@-", "\(base)/echo", input: body)
        #expect(echoed.utf8.count == body.count)
        let parallel = try await curl(
            "--parallel", "--parallel-immediate", "-o", "/dev/null", "-w", "%{http_code}",
            "\(base)/hello?[1-40]")
        #expect(parallel == String(repeating: "200", count: 40))
    }

    @Test func `a key that every user can read is refused`() throws {
        try setKeyMode(0o644)
        let error = #expect(throws: PEMError.self) { try credentials() }
        #expect(error?.description.contains("key.pem") == true)
    }

    @Test func `another certificate, plain text and old TLS are refused`() async throws {
        let server = try server(try credentials())
        try write(CertificateAuthority(name: "other").certificatePEM, to: "ca.pem")
        #expect(try await curl("https://localhost:\(server.port)/hello") == "curl 60")
        try write(authority.certificatePEM, to: "ca.pem")
        #expect(try await curl("https://127.0.0.1:\(server.port)/hello") == "hello")
        #expect(try await curl("http://localhost:\(server.port)/hello").hasPrefix("curl "))
        #expect(
            try await curl("--tls-max", "1.1", "https://localhost:\(server.port)/hello").hasPrefix("curl "))
        // A client that speaks only HTTP/2 learns it in the handshake.
        let process = try ChildProcess(
            "openssl",
            arguments: [
                "s_client", "-connect", "localhost:\(server.port)", "-alpn", "h2", "-CAfile", path("ca.pem"),
            ], input: Data())
        _ = try await process.exitStatus()
        #expect((process.output + process.errors).contains("no application protocol"))
        #expect(try await curl("https://localhost:\(server.port)/hello") == "hello", "the server goes on")
    }

    @Test func `renewed files are used for new connections, and unusable ones are not`() async throws {
        let credentials = try credentials()
        let server = try server(credentials)
        let base = "https://localhost:\(server.port)/hello"
        #expect(credentials.refresh() == .unchanged)
        // The new certificate is there, and its key is not yet.
        let next = authority.issue(for: ["renewed.example"])
        try write(next.chainPEM, to: "chain.pem")
        guard case .unusable(let problem) = credentials.refresh() else {
            Issue.record("a certificate without its key was accepted")
            return
        }
        #expect(problem.contains("does not belong to key"), "\(problem)")
        #expect(credentials.refresh() == .unchanged, "the same problem is reported once")
        #expect(try await curl(base) == "hello", "the earlier certificate is in use")
        try writeKey(next.keyPEM)
        #expect(credentials.refresh() == .renewed)
        #expect(try await curl(base) == "curl 60", "the new certificate is for another name")
        let renewed = try await curl(
            "--resolve", "renewed.example:\(server.port):127.0.0.1",
            "https://renewed.example:\(server.port)/hello")
        #expect(renewed == "hello")
    }

    @Test func `a stop lets the answer in flight pass, and frees the port`() async throws {
        let heldReplies = TracedLock<[HTTPReply]>([])
        let server = try server(try credentials()) { routes in
            routes.onAdmission(.get, path: "/slow") { _ in
                .admitted { _, reply in heldReplies.withLock { $0.append(reply) } }
            }
        }
        let port = server.port
        async let slow = curl("https://localhost:\(port)/slow")
        try await eventually("the request has arrived") { heldReplies.withLock { $0.count } == 1 }
        // The deadline is so late that no load reaches it.
        async let stopped: Void = server.server.stop(by: .now().advanced(byMilliseconds: 600_000))
        try await eventually("the port is free") { (try? RawPeer(port: port)) == nil }
        for reply in heldReplies.withLock({ $0 }) {
            reply.send(.text(String(repeating: "y", count: 100_000)))
        }
        #expect(try await slow.utf8.count == 100_000)
        await stopped
        #expect(try await curl("https://localhost:\(port)/hello").hasPrefix("curl "))
    }

    @Test func `peers that do not finish the handshake count for the limit of their address`() async throws {
        var limits = HTTPLimits()
        limits.connectionsPerPeerMax = 2
        let server = try server(try credentials(), limits: limits)
        let port = server.port
        try await onThread {
            let silent = try [RawPeer(port: port), RawPeer(port: port)]
            let third = try RawPeer(port: port)
            _ = third.answers(atLeast: 1, within: 5000)
            #expect(third.isClosed)
            withExtendedLifetime(silent) {}
        }
        try await eventually("the closed connections are forgotten") {
            try await curl("https://localhost:\(port)/hello") == "hello"
        }
    }
}
