import Cryptography
import Foundation
import Lifecycle
import ProcessTesting
import TLS

/// A loop that stops with the test.
final class RunningLoop: Sendable {
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(name: "test")
        try loop.start()
    }

    deinit { loop.stop() }
}

/// A self-signed certificate for this machine, made by `openssl`.
final class TestCertificate: Sendable {
    private let directory: TemporaryDirectory
    var key: String { directory.filePath(named: "key.pem") }
    var certificate: String { directory.filePath(named: "certificate.pem") }

    init() async throws {
        directory = try TemporaryDirectory()
        let process = try ChildProcess(
            "openssl",
            arguments: [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", directory.filePath(named: "key.pem"),
                "-out", directory.filePath(named: "certificate.pem"),
                "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
            ])
        guard try await process.exitStatus() == 0 else { throw Failure(description: process.errors) }
    }

    func client() throws -> TLSContext { try TLSContext.client(trust: .authorities(.file(certificate))) }
    func server() throws -> TLSContext { try TLSContext.server(chain: .file(certificate), key: .file(key)) }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
