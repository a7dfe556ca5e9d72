import Lifecycle
import ProcessTesting
import TLS
import Testing

@testable import HTTP2

/// The server session against independent clients: `h2load`, `curl` and `nghttp`.
@Suite struct ServerPeersTests {
    @Test(arguments: [false, true]) func `h2load gets every answer`(isSecure: Bool) async throws {
        let server = try AnsweringServer(isSecure ? await TestCertificate() : nil)
        let directory = try TemporaryDirectory()
        let body = try directory.writeFile(named: "body", content: String(repeating: "x", count: 600))
        let load = try ChildProcess(
            "h2load",
            arguments: [
                "-n", "5000", "-c", "4", "-m", "100", "-d", body, "-H", "apns-id: 1234",
                "\(isSecure ? "https" : "http")://127.0.0.1:\(server.port)/3/device/abc",
            ])
        #expect(try await load.exitStatus() == 0)
        #expect(load.output.contains("5000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(load.output)")
        #expect(load.output.contains("status codes: 5000 2xx"))
    }

    @Test func `curl gets status, fields and body`() async throws {
        let server = try AnsweringServer()
        let curl = try ChildProcess(
            "curl",
            arguments: [
                "--silent", "--include", "--http2-prior-knowledge", "-H", "apns-id: 42", "--data", "hello",
                "http://127.0.0.1:\(server.port)/echo",
            ])
        #expect(try await curl.exitStatus() == 0)
        #expect(curl.output.contains("HTTP/2 400"))
        #expect(curl.output.contains("apns-id: 42"))
        #expect(curl.output.hasSuffix("POST /echo hello"))
    }

    @Test func `curl agrees on h2 over TLS`() async throws {
        let certificate = try await TestCertificate()
        let server = try AnsweringServer(certificate)
        let curl = try ChildProcess(
            "curl",
            arguments: [
                "--silent", "--include", "--http2", "--cacert", certificate.certificate, "--data", "hello",
                "https://127.0.0.1:\(server.port)/echo",
            ])
        #expect(try await curl.exitStatus() == 0)
        #expect(curl.output.contains("HTTP/2 400") && curl.output.hasSuffix("POST /echo hello"))
    }

    @Test func `nghttp learns that its body is too large before it has sent it`() async throws {
        let server = try AnsweringServer()
        let directory = try TemporaryDirectory()
        let body = try directory.writeFile(named: "body", content: String(repeating: "x", count: 2_000_000))
        let nghttp = try ChildProcess(
            "nghttp", arguments: ["-v", "-d", body, "http://127.0.0.1:\(server.port)/echo"])
        #expect(try await nghttp.exitStatus() == 0)
        #expect(nghttp.output.contains(":status: 413"))
        #expect(nghttp.output.contains("(error_code=NO_ERROR(0x00))"), "\(nghttp.output)")
    }

    @Test func `a client that speaks HTTP/1.1 is rejected`() async throws {
        let server = try AnsweringServer()
        let curl = try ChildProcess(
            "curl",
            arguments: ["--silent", "--http1.1", "--max-time", "5", "http://127.0.0.1:\(server.port)/echo"])
        #expect(try await curl.exitStatus() != 0)
    }
}

/// Answers 200 to `/3/device/…`, 413 to bodies above the limit, and 400 with an echo to all other requests.
private final class AnsweringServer: Sendable {
    private let running: RunningLoop
    private let listener: TCPListener
    var port: Int { listener.port }

    init(_ certificate: TestCertificate? = nil) throws {
        running = try RunningLoop()
        let tls = try certificate?.server()
        listener = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 100) {
            connection in
            guard let tls else { return ServerOnSocket(connection, answer: AnsweringServer.makeAnswer()) }
            return TLSConnection.accept(connection, context: tls) {
                ServerOnSocket(secure: $0, answer: AnsweringServer.makeAnswer())
            }
        }
    }

    /// Returns a closure that answers one request.
    private static func makeAnswer() -> (RequestBatch, IncomingRequest, ServerSession) -> Void {
        let ok = Push.answer(200)
        let badRequest = Push.answer(400)
        let tooLarge = Push.answer(413)
        return { batch, request, session in
            let id = batch.fields(of: request)["apns-id"].map(Array.init) ?? []
            let path = text(batch.path(of: request)) ?? ""
            if request.isBodyTruncated {
                session.respond(to: request.stream, template: tooLarge)
            } else if path.hasPrefix("/3/device/") {
                session.respond(to: request.stream, template: ok, varying: id.span)
            } else {
                let method = text(batch.method(of: request)) ?? ""
                let echo = Array("\(method) \(path) \(text(batch.body(of: request)) ?? "")".utf8)
                session.respond(
                    to: request.stream, template: badRequest, varying: id.span,
                    body: SharedBody(copying: echo.span))
            }
        }
    }

    deinit { listener.stop() }
}
