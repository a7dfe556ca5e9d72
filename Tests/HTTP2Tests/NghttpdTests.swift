import Cryptography
import Foundation
import Lifecycle
import ProcessTesting
import TLS
import Testing

@testable import HTTP2

/// The client session against `nghttpd`, an independent server.
@Suite struct NghttpdTests {
    @Test(arguments: [false, true])
    func `thousands of posts over few streams all get their answer`(isSecure: Bool) async throws {
        let running = try RunningLoop()
        let certificate = try isSecure ? await TestCertificate() : nil
        // At most seven streams are open at a time.
        let server = try Nghttpd(["-m", "7"], certificate: certificate)
        let template = try RequestTemplate(
            method: "POST", scheme: "http", authority: "localhost",
            headers: [
                HeaderField(name: "authorization", value: Push.bearer),
                HeaderField(name: "apns-topic", value: "com.example.app"),
            ],
            varying: "apns-id")
        let bytes = Push.body
        let body = SharedBody(copying: bytes.span)
        let client = ClientOnSocket(requestCount: 3_000) { session, index in
            let path = Array((index % 3 == 0 ? "/missing" : "/hello").utf8)
            let id = Array("id-\(index)".utf8)
            session.submit(
                template: template, path: path.span, varying: id.span, body: body, tag: UInt64(index))
        }
        client.connect(
            port: try await server.process.listeningPort(), on: running.loop, tls: try certificate?.client())
        try await eventually("all answers") { client.ended.count == 3_000 || client.closeReason != nil }
        let answers = client.ended
        #expect(answers.count == 3_000 && Set(answers.map(\.outcome.tag)).count == 3_000)
        #expect(answers.allSatisfy { $0.outcome.endReason == .answered })
        let hits = answers.filter { $0.outcome.tag % 3 != 0 }
        #expect(hits.allSatisfy { $0.outcome.status == 200 && $0.body == "hello, phone\n" })
        let misses = answers.filter { $0.outcome.tag % 3 == 0 }
        #expect(misses.allSatisfy { $0.outcome.status == 404 && $0.body.contains("404") })
    }

    @Test func `a request to a killed server ends as unknown or unprocessed`() async throws {
        let running = try RunningLoop()
        let server = try Nghttpd()
        let template = try RequestTemplate(
            method: "POST", scheme: "http", authority: "localhost", headers: [])
        let body = SharedBody(copying: [UInt8](repeating: 7, count: 3_000_000).span)
        let client = ClientOnSocket(requestCount: 50) { session, index in
            let path = Array("/hello".utf8)
            session.submit(
                template: template, path: path.span, body: index < 20 ? nil : body, tag: UInt64(index))
        }
        let port = try await server.process.listeningPort()
        server.process.send(signal: SIGSTOP)
        client.connect(port: port, on: running.loop)
        // The stopped server answers nothing, so no request has ended.
        #expect(client.ended.isEmpty)
        server.process.send(signal: SIGKILL)
        try await eventually("the end of the connection") { client.closeReason != nil }
        #expect(
            client.ended.allSatisfy {
                $0.outcome.endReason == .connectionLost || $0.outcome.endReason == .notProcessed
            })
    }
}

/// An `nghttpd` that serves one file. It is killed with this object.
final class Nghttpd: Sendable {
    let process: ChildProcess
    private let directory: TemporaryDirectory

    /// - Parameter certificate: The certificate for TLS. Without it the server speaks plain HTTP/2.
    init(_ arguments: [String] = [], certificate: TestCertificate? = nil) throws {
        directory = try TemporaryDirectory()
        _ = try directory.writeFile(named: "hello", content: "hello, phone\n")
        // The port 0 is a free port.
        let portAndTLS = certificate.map { ["0", $0.key, $0.certificate] } ?? ["--no-tls", "0"]
        process = try ChildProcess("nghttpd", arguments: arguments + ["-d", directory.path] + portAndTLS)
    }
}
