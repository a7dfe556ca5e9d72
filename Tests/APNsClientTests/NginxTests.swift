import Cryptography
import Foundation
import Glibc
import Identifiers
import Lifecycle
import ProcessTesting
import TLS
import Telemetry
import Testing

@testable import APNs

/// The client against nginx, an independent server. It answers after the headers and then closes the stream
/// with RST_STREAM(NO_ERROR) while the body is still in transit. It sends GOAWAY after a fixed number of
/// requests.
@Suite struct NginxTests {
    /// A server on a port that was free a moment ago. If the port has been taken, another one is tried.
    private final class Nginx: Sendable {
        let authority = CertificateAuthority(name: "Test CA")
        let port: Int
        private let directory: TemporaryDirectory
        private let process: ChildProcess

        /// - Parameters:
        ///   - http: Directives of the `http` block.
        ///   - server: Directives of the `server` block.
        init(http: String, server: String) async throws {
            directory = try TemporaryDirectory()
            let identity = authority.issue(for: ["localhost", "127.0.0.1"])
            _ = try directory.writeFile(named: "chain.pem", content: identity.chainPEM)
            _ = try directory.writeFile(named: "key.pem", content: identity.keyPEM)
            for _ in 1..<5 {
                if let (process, port) = try await Self.start(in: directory, http: http, server: server) {
                    self.process = process
                    self.port = port
                    return
                }
            }
            let (process, port) = try #require(
                try await Self.start(in: directory, http: http, server: server))
            self.process = process
            self.port = port
        }

        private static func start(
            in directory: TemporaryDirectory, http: String, server: String
        ) async throws -> (ChildProcess, Int)? {
            let bound = try TCPListener.bind(host: "127.0.0.1", port: 0)
            let port = bound.address.port
            close(bound.descriptor)
            let file = try directory.writeFile(
                named: "nginx.conf",
                content: configuration(path: directory.path, port: port, http: http, server: server))
            let process = try ChildProcess("nginx", arguments: ["-p", directory.path, "-c", file])
            do {
                guard try await process.listeningPort() == port else { return nil }
            } catch {
                guard process.errors.contains("Address already in use") else { throw error }
                return nil
            }
            return (process, port)
        }

        private static func configuration(
            path: String, port: Int, http: String, server: String
        ) -> String {
            let temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
                "\($0)_temp_path \(path)/\($0);"
            }
            return """
                daemon off; master_process off; pid \(path)/pid; error_log stderr;
                events { worker_connections 64; }
                http {
                    \(temporaryPaths.joined(separator: "\n"))
                    log_format pushes '$status $request_uri';
                    access_log \(path)/pushes.log pushes;
                    \(http)
                    server {
                        listen 127.0.0.1:\(port) ssl http2;
                        ssl_certificate \(path)/chain.pem; ssl_certificate_key \(path)/key.pem;
                        \(server)
                    }
                }
                """
        }

        /// Number of times that nginx answered each token with 200.
        var accepted: [Substring: Int] {
            let log =
                (try? String(contentsOfFile: directory.filePath(named: "pushes.log"), encoding: .utf8)) ?? ""
            let tokens = log.split(separator: "\n").filter { $0.hasPrefix("200 ") }.map { $0.suffix(64) }
            return Dictionary(tokens.map { ($0, 1) }, uniquingKeysWith: +)
        }

        func pusher(_ change: (inout APNsSettings) -> Void = { _ in }) throws -> Pusher {
            try Pusher(
                Endpoint(host: "localhost", port: port),
                trust: .authorities(.text(authority.certificatePEM)), change)
        }
    }

    @Test func `GOAWAY from nginx loses and duplicates nothing`() async throws {
        let nginx = try await Nginx(
            http: "keepalive_requests 100; http2_max_concurrent_streams 50;",
            server: "location /3/device/ { return 200; }")
        let pusher = try nginx.pusher()
        pusher.push(1..<2_001)
        let outcomes = try await pusher.allOutcomes(atLeast: 2_000)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] && $0[0].disposition == .accepted })
        let accepted = nginx.accepted
        #expect(accepted.count == 2_000 && accepted.values.allSatisfy { $0 == 1 })
        #expect(pusher.metrics.render().contains("flotilla_apns_goaways_total{code=\"NO_ERROR\"}"))
    }

    @Test(arguments: [
        ("return 200;", 200, ResponseDisposition.accepted), ("return 413;", 413, .requestFaulty),
    ])
    func `an answer that arrives before the body has been sent counts`(
        answer: String, status: Int, disposition: ResponseDisposition
    ) async throws {
        // The client may send 512 bytes of each body before nginx grants more, which it never does.
        let nginx = try await Nginx(
            http: "http2_body_preread_size 512;", server: "location /3/device/ { \(answer) }")
        let pusher = try nginx.pusher()
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 4_096)
        for tag in UInt64(1)...200 {
            try pusher.push(tag) { client in
                let path = "/3/device/" + String(decoding: Hex.encode(Pusher.token(tag)), as: UTF8.self)
                return try PushTemplate(
                    .fixed(path: Array(path.utf8)), headers: [], body: body,
                    pool: client.pool(
                        for: ConnectionPool.Key(
                            endpoint: client.provider.settings.sandbox.push, profile: Pusher.profile,
                            purpose: .pushes(.usual))))
            }
        }
        let outcomes = try await pusher.allOutcomes(atLeast: 200)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] })
        #expect(outcomes.values.allSatisfy { $0[0].status == status && $0[0].disposition == disposition })
        #expect(status != 200 || nginx.accepted.values.allSatisfy { $0 == 1 })
        // A stream that nginx refuses is sent again. A stream that nginx closes after its answer is no reset.
        let resets = pusher.metrics.render().split(separator: "\n").filter {
            $0.hasPrefix("flotilla_apns_resets_total{")
        }
        #expect(resets.allSatisfy { $0.contains("REFUSED_STREAM") }, "\(resets)")
    }

    @Test func `an error body from nginx is parsed`() async throws {
        let reason = #"{"reason":"Unregistered","timestamp":1763600000123}"#
        let nginx = try await Nginx(http: "", server: "location /3/device/ { return 410 '\(reason)'; }")
        let pusher = try nginx.pusher()
        pusher.push(1..<51)
        let outcomes = try await pusher.allOutcomes(atLeast: 50)
        #expect(outcomes.values.allSatisfy { $0[0].disposition == .tokenGone })
        #expect(outcomes.values.allSatisfy { $0[0].details?.response.timestamp == 1_763_600_000_123 })
    }
}
