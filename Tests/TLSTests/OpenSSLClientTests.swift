import Foundation
import Lifecycle
import ProcessTesting
import Testing

@testable import TLS

/// Our server against OpenSSL's client.
@Suite struct OpenSSLClientTests {
    private func client(_ port: Int, _ options: [String], sending text: String = "") throws -> ChildProcess {
        try ChildProcess(
            "openssl", arguments: ["s_client", "-connect", "127.0.0.1:\(port)"] + options,
            input: Data(text.utf8))
    }

    @Test(arguments: ["-tls1_3", "-tls1_2"]) func `a client that verifies us is answered`(version: String)
        async throws
    {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let server = try Server(try certificates.server(), on: running.loop) { Endpoint(echoes: true) }
        let verifying = [
            "-CAfile", certificates.caFile, "-verify_return_error", "-verify_hostname", "localhost",
            "-servername", "localhost", "-alpn", "http/1.1,h2", "-quiet", version,
        ]
        let process = try client(server.port, verifying, sending: "hello there\n")
        try await process.waitForOutput(containing: "hello there")
        #expect(server.first?.read(\.applicationProtocol) == "h2")
        process.send(signal: SIGKILL)
        try await eventually("the end") { server.first?.read(\.closeReasons).count == 1 }
    }

    private func sentence(for options: [String]) async throws -> String {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let server = try Server(try certificates.server(), on: running.loop)
        let process = try client(server.port, ["-CAfile", certificates.caFile] + options)
        try await eventually("the refusal") { server.first?.read(\.closeReasons).isEmpty == false }
        _ = try await process.exitStatus()
        let text = server.first?.read(\.closeReasons)[0] ?? ""
        #expect(server.first?.read(\.applicationProtocol) == nil)
        return text.replacing(/127\.0\.0\.1:\d+/, with: "PEER")
    }

    @Test func `a client without h2 or with TLS 1.1 has its own message`() async throws {
        #expect(
            try await sentence(for: [])
                == "PEER does not speak h2: ALPN agreed on no protocol; check host and port")
        #expect(
            try await sentence(for: ["-alpn", "http/1.1"])
                == "PEER does not speak h2: ALPN agreed on no protocol; check host and port")
        #expect(
            try await sentence(for: ["-alpn", "h2", "-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"])
                == "PEER speaks only TLS 1.1 or older: TLS 1.2 or newer is required")
    }

    @Test func `a client that speaks plain text gets its own message`() async throws {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let server = try Server(try certificates.server(), on: running.loop)
        let process = try ChildProcess(
            "curl", arguments: ["-s", "--max-time", "5", "http://127.0.0.1:\(server.port)/"])
        try await eventually("the refusal") { server.first?.read(\.closeReasons).isEmpty == false }
        _ = try await process.exitStatus()
        #expect(
            server.first?.read(\.closeReasons)[0].hasSuffix(
                "speaks plain text where TLS is expected; check the port") == true)
    }
}
